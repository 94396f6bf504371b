"""Reading a run's journal for the API: pieces of it from a byte offset on, and its metric events as curves."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from potato.training.contract.events import MAX_LINE, Event, decode

PIECE = 256 * 1024
"""How much of a journal one request reads (bytes), unless a single line is longer."""

MAX_POINTS = 800
"""A curve that grows longer than this is thinned to half; what is left stays evenly spaced."""


@dataclass(frozen=True)
class Piece:
    """Whole lines of a journal: each event with the offset of its end, where to go on, and whether more lies ready."""

    events: list[tuple[int, Event]]
    next: int
    more: bool


def read_piece(path: Path, after: int, limit: int) -> Piece:
    """At most `limit` events from the byte offset `after` on; none where the file is absent or shorter."""
    data, size = _read(path, after)
    events: list[tuple[int, Event]] = []
    offset = after
    for line in data.split(b"\n")[:-1]:
        if len(events) == limit:
            break
        offset += len(line) + 1
        if line.strip():
            events.append((offset, decode(line)))
    cut_short = len(events) == limit and data.find(b"\n", offset - after) >= 0
    return Piece(events, offset, cut_short or after + len(data) < size)


def as_json(offset: int, event: Event) -> dict[str, Any]:
    """The event as the API gives it. The event's own fields never hide these three."""
    return {**event.fields, "offset": offset, "event": event.name, "t": event.t if math.isfinite(event.t) else 0.0}


def _read(path: Path, after: int) -> tuple[bytes, int]:
    """From `after` on: a piece that holds at least one whole line where there is one, and the file's size."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(min(after, size))
            data = file.read(PIECE)
            if b"\n" not in data and len(data) == PIECE:
                data += file.readline(2 * MAX_LINE)
            return data, size
    except FileNotFoundError:
        return b"", 0


@dataclass
class _Series:
    """The points of one metric; every `stride`-th is kept, and the last one always."""

    points: list[tuple[float, float | None]] = field(default_factory=list)
    stride: int = 1
    seen: int = 0
    last: tuple[float, float | None] | None = None

    def add(self, step: float, value: float | None) -> None:
        if self.seen % self.stride == 0:
            self.points.append((step, value))
        self.seen += 1
        self.last = (step, value)
        if len(self.points) > MAX_POINTS:
            self.points = self.points[::2]
            self.stride *= 2

    def whole(self) -> list[tuple[float, float | None]]:
        return self.points if self.last is None or self.points[-1] == self.last else [*self.points, self.last]


@dataclass
class _Reading:
    """How far a journal has been read, and its curves up to there."""

    offset: int = 0
    series: dict[tuple[str | None, str, str], _Series] = field(default_factory=dict)

    def take(self, event: Event) -> None:
        step, value = event.fields.get("step"), event.fields.get("value")
        if not isinstance(step, (int, float)) or not isinstance(value, (int, float, type(None))):
            return
        scheme = event.fields.get("scheme")
        key = (
            None if scheme is None else str(scheme),
            str(event.fields.get("split", "")),
            str(event.fields.get("name", "")),
        )
        self.series.setdefault(key, _Series()).add(step, value)


class CurveReader:
    """The curves of runs, read from their journals once: a later call reads only what has been added since.

    Keeps the last few runs that were asked for. Safe to call from several threads.
    """

    def __init__(self, keep: int = 8) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._readings: OrderedDict[Path, _Reading] = OrderedDict()

    def read(self, path: Path) -> tuple[list[dict[str, Any]], int]:
        """Every curve in the journal at `path` so far, and the offset up to which it was read."""
        with self._lock:
            reading = self._readings.setdefault(path, _Reading())
            self._readings.move_to_end(path)
            while len(self._readings) > self._keep:
                self._readings.popitem(last=False)
            _go_on(reading, path)
            return [_curve(key, series) for key, series in reading.series.items()], reading.offset


def _go_on(reading: _Reading, path: Path) -> None:
    while True:
        data, _ = _read(path, reading.offset)
        end = data.rfind(b"\n") + 1
        for line in data[:end].split(b"\n"):
            if b'"metric"' in line:
                event = decode(line)
                if event.name == "metric":
                    reading.take(event)
        reading.offset += end
        if end == 0 or len(data) < PIECE:
            return


def _curve(key: tuple[str | None, str, str], series: _Series) -> dict[str, Any]:
    scheme, split, name = key
    return {"scheme": scheme, "split": split, "name": name, "points": series.whole()}
