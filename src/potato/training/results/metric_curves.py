"""The metric events of a run's journal as curves, thinned out, and kept in `curves.json` once the run has ended.

A journal may have a hundred thousand events. The server reads those of a run that goes as they come; of an ended run it
reads the file, which the child process has written, so that no page of an old run keeps the server busy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from potato.training.contract.events import MAX_LINE, Event, decode
from potato.training.contract.files import write_atomic

PIECE = 256 * 1024
"""How much of a journal is read at once (bytes), unless a single line is longer."""

MAX_POINTS = 800
"""A curve that grows longer than this is thinned to half; what is left stays evenly spaced."""

FILE = "curves.json"

Point = tuple[float, "float | None"]
Key = tuple["str | None", str, str]
"""Scheme, split, name."""


@dataclass
class Series:
    """The points of one metric; every `stride`-th is kept, and the last one always."""

    points: list[Point] = field(default_factory=list)
    stride: int = 1
    seen: int = 0
    last: Point | None = None

    def add(self, step: float, value: float | None) -> None:
        """Take the next point."""
        if self.seen % self.stride == 0:
            self.points.append((step, value))
        self.seen += 1
        self.last = (step, value)
        if len(self.points) > MAX_POINTS:
            self.points = self.points[::2]
            self.stride *= 2

    def whole(self) -> list[Point]:
        """The kept points, and the last."""
        return self.points if self.last is None or self.points[-1] == self.last else [*self.points, self.last]


@dataclass
class Reading:
    """How far a journal has been read (`offset`, bytes), and its curves up to there."""

    offset: int = 0
    series: dict[Key, Series] = field(default_factory=dict)

    def go_on(self, journal: Path) -> None:
        """Read the whole lines that have come since."""
        while True:
            data = read_piece(journal, self.offset)[0]
            end = data.rfind(b"\n") + 1
            for line in data[:end].split(b"\n"):
                if b'"metric"' in line:
                    event = decode(line)
                    if event.name == "metric":
                        self._take(event)
            self.offset += end
            if end == 0 or len(data) < PIECE:
                return

    def as_json(self) -> dict[str, Any]:
        """What `from_json` takes."""
        return {"offset": self.offset, "series": [[list(key), vars(series)] for key, series in self.series.items()]}

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> Reading:
        """The reading of `as_json`."""
        made = cls(offset=raw["offset"])
        for (scheme, split, name), series in raw["series"]:
            points: list[Point] = [(step, value) for step, value in series["points"]]
            last = tuple(series["last"]) if series["last"] else None
            made.series[scheme, split, name] = Series(points, series["stride"], series["seen"], last)
        return made

    def _take(self, event: Event) -> None:
        step, value = event.fields.get("step"), event.fields.get("value")
        if not isinstance(step, (int, float)) or not isinstance(value, (int, float, type(None))):
            return
        scheme = event.fields.get("scheme")
        name, split = (str(event.fields.get(field, "")) for field in ("name", "split"))
        self.series.setdefault((None if scheme is None else str(scheme), split, name), Series()).add(step, value)


def read_piece(path: Path, after: int) -> tuple[bytes, int]:
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


def keep(folder: Path) -> None:
    """Write the curves of an ended run's journal beside it, where they are not there yet."""
    journal, file = folder / "events.jsonl", folder / FILE
    if not journal.is_file() or file.exists():
        return
    reading = Reading()
    reading.go_on(journal)
    write_atomic(str(file), json.dumps(reading.as_json(), separators=(",", ":")).encode("ascii"))


def kept(journal: Path) -> Reading:
    """The reading that was kept beside the journal; a fresh one where there is none, or it is damaged."""
    try:
        return Reading.from_json(json.loads((journal.parent / FILE).read_text("ascii")))
    except (OSError, ValueError, LookupError, TypeError):
        return Reading()  # the journal has it all
