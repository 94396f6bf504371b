"""The worker's events: JSON lines that say what a run is doing.

A writer appends whole lines; a reader takes whole lines and leaves a half-written last one for later. A line that is
not an event is a log line, never a failure.
"""

import json
import math
import os
import threading
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Tuple

VERSION = 1

NAMES = ("status", "progress", "metric", "log", "artifact", "result", "error")

MAX_LINE = 1 << 20
"""A longer line is cut by its writer (bytes)."""


@dataclass(frozen=True)
class Event:
    """One event. `t` is seconds since the epoch by the writer's clock; `fields` are the event's own."""

    name: str
    t: float
    fields: Dict[str, Any]


class EventWriter:
    """Appends events to a file, each in one write, from any thread.

    Progress is throttled here: one event a phase each `progress_interval_s`, and always the first and the last.
    `clock` tells the time of day, which may be set meanwhile; `timer` measures.
    """

    def __init__(
        self,
        path: str,
        clock: Callable[[], float] = time.time,
        progress_interval_s: float = 0.5,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._clock = clock
        self._timer = timer
        self._interval = progress_interval_s
        self._lock = threading.Lock()
        self._phase = ""
        self._phase_started = 0.0
        self._last_progress = -math.inf

    def status(self, state: str, step: str = "", **fields: Any) -> None:
        """What the run is doing, in one short sentence; `device` and `host` come with it when they are known."""
        self._write("status", dict(fields, state=state, step=step))

    def progress(self, phase: str, current: int, total: int) -> None:
        """`current` of `total` is done in `phase`; the remaining time is estimated from the phase so far."""
        now = self._timer()
        if phase != self._phase:
            self._phase, self._phase_started, self._last_progress = phase, now, -math.inf
        if current < total and now - self._last_progress < self._interval:
            return
        self._last_progress = now
        eta = (now - self._phase_started) / current * (total - current) if current else None
        self._write("progress", {"phase": phase, "current": current, "total": total, "eta_s": eta})

    def metric(self, split: str, name: str, value: float, step: int, **fields: Any) -> None:
        """One point of a curve; `split` is `train`, `val` or `test`; `epoch` and `scheme` may come with it."""
        self._write("metric", dict(fields, split=split, name=name, value=value, step=step))

    def log(self, level: str, msg: str) -> None:
        """A line for people; `level` is `info`, `warning` or `error`."""
        self._write("log", {"level": level, "msg": msg})

    def artifact(self, path: str, size: int) -> None:
        """A finished model file: its path under the artifact folder, and its bytes."""
        self._write("artifact", {"path": path, "bytes": size})

    def result(self, **fields: Any) -> None:
        """The final record of a run that came to its end."""
        self._write("result", fields)

    def error(self, code: str, message: str, install_hint: str = "") -> None:
        """Why the run failed, in one sentence."""
        self._write("error", {"code": code, "message": message, "install_hint": install_hint or None})

    def close(self) -> None:
        """Flush to disk and close."""
        os.fsync(self._descriptor)
        os.close(self._descriptor)

    def _write(self, name: str, fields: Dict[str, Any]) -> None:
        line = encode(Event(name, self._clock(), fields))
        with self._lock:
            while line:
                line = line[os.write(self._descriptor, line) :]


def encode(event: Event) -> bytes:
    """The event's line, newline included. NaN and infinities become null."""
    record = {"v": VERSION, "event": event.name, "t": event.t}
    record.update(event.fields)
    line = json.dumps(_clean(record), ensure_ascii=True, default=str, separators=(",", ":")).encode()
    if len(line) >= MAX_LINE:
        cut = {"v": VERSION, "event": "log", "t": event.t, "level": "warning"}
        cut["msg"] = "an event '%s' of %d bytes was cut: %s" % (event.name, len(line), line[:2000].decode())
        line = json.dumps(cut).encode()
    return line + b"\n"


def read_lines(data: bytes) -> Tuple[List[Event], int]:
    """The events of the whole lines at the start of `data`, and how many bytes they took.

    What follows the last newline is left for the next call. A line that is no event of this version becomes a `log`
    event that carries the line.
    """
    end = data.rfind(b"\n") + 1
    return [decode(line) for line in data[:end].split(b"\n")[:-1] if line.strip()], end


def decode(line: bytes) -> Event:
    """The event on one line (without its newline)."""
    try:
        record = json.loads(line)
        if isinstance(record, dict) and record.get("v") == VERSION and record.get("event") in NAMES:
            fields = {key: value for key, value in _clean(record).items() if key not in ("v", "event", "t")}
            return Event(record["event"], float(record.get("t") or 0.0), fields)
    except (ValueError, TypeError, RecursionError):
        pass  # not an event: a line that some library printed
    text = line.decode("utf-8", "replace").rstrip("\r").rsplit("\r", 1)[-1]  # a progress bar's last state
    return Event("log", 0.0, {"level": "info", "msg": text.strip()})


def _clean(value: Any) -> Any:
    """`value` with nothing in it that a reader, a database or a page chokes on: NaN, infinities, half characters."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _clean(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(entry) for entry in value]
    return value
