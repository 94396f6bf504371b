"""`run.log`: what a person reads of a run."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

from potato.store.clock import Clock

_log = logging.getLogger("potato.runs")

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")

MAX_LINE = 4000
"""Characters of one line."""


_HEAD = 64
_LOOK = 4096
"""Bytes by which most places where two pieces of a log do not overlap are told, before whole pieces are compared."""


class RunLog:
    """Appends lines, each with its time in UTC. A line comes from whatever printed it: control characters go."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def say(self, text: str) -> None:
        """Add one line of the server's own, with the present time."""
        self.add([(self._clock().timestamp(), text)])

    def add(self, lines: Iterable[tuple[float, str]]) -> None:
        """Add lines, each with its moment in seconds since the epoch; 0 for one that told none."""
        data = _as_bytes(lines)
        if data:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("ab") as file:
                    file.write(data)
            except OSError as error:  # a full disk costs the log its lines, not the run its end
                _log.warning("%s could not be written: %s", self._path, error)

    def take_back(self, lines: Iterable[tuple[float, str]]) -> None:
        """Remove from the log's end as much of `lines`, from their beginning, as stands there.

        These are added next; a server that was killed before it had noted so has added some of them already.
        """
        data = _as_bytes(lines)
        if not data:
            return
        try:
            with self._path.open("r+b") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - len(data)))
                file.truncate(size - _overlap(file.read(), data))
        except FileNotFoundError:
            return
        except OSError as error:
            _log.warning("%s could not be written: %s", self._path, error)


def _as_bytes(lines: Iterable[tuple[float, str]]) -> bytes:
    text = "".join(f"{_stamp(moment)}  {line}\n" for moment, text in lines for line in _clean(text))
    return text.encode("utf-8", "replace")


def _overlap(written: bytes, data: bytes) -> int:
    """How many bytes at the end of `written` are the beginning of `data`."""
    tail = written[max(0, len(written) - len(data)) :]
    head = data[:_HEAD]
    start = tail.find(head)
    while start >= 0:  # the earliest is the longest
        if data.startswith(tail[start : start + _LOOK]) and data.startswith(tail[start:]):
            return len(tail) - start
        start = tail.find(head, start + 1)
    return next((size for size in range(min(len(tail), len(head)), 0, -1) if tail.endswith(data[:size])), 0)


def _clean(text: str) -> list[str]:
    return [_CONTROL.sub("", line)[:MAX_LINE] for line in text.splitlines() or [""]]


def _stamp(moment: float) -> str:
    if not 0 < moment < 1e11:
        return " " * 19
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
