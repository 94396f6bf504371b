"""`run.log`: what a person reads of a run."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

from potato.store.clock import Clock

_log = logging.getLogger("potato.runs")

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")

MAX_LINE = 4000
"""Characters of one line."""


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
        data = "".join(f"{_stamp(moment)}  {line}\n" for moment, text in lines for line in _clean(text))
        if data:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8", errors="replace") as file:
                    file.write(data)
            except OSError as error:  # a full disk costs the log its lines, not the run its end
                _log.warning("%s could not be written: %s", self._path, error)


def _clean(text: str) -> list[str]:
    return [_CONTROL.sub("", line)[:MAX_LINE] for line in text.splitlines() or [""]]


def _stamp(moment: float) -> str:
    if not 0 < moment < 1e11:
        return " " * 19
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%d %H:%M:%S")
