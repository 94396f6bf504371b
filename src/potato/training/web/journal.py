"""Reading a run's journal for the API: pieces of it from a byte offset on, and its metric events as curves."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from potato.training.contract.events import Event, decode
from potato.training.results import metric_curves
from potato.training.results.metric_curves import Key, Reading, Series


@dataclass(frozen=True)
class Piece:
    """Whole lines of a journal: each event with the offset of its end, where to go on, and whether more lies ready."""

    events: list[tuple[int, Event]]
    next: int
    more: bool


def read_piece(path: Path, after: int, limit: int) -> Piece:
    """At most `limit` events from the byte offset `after` on; none where the file is absent or shorter."""
    data, size = metric_curves.read_piece(path, after)
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


class CurveReader:
    """The curves of runs, read from their journals once: a later call reads only what has been added since.

    Keeps the last few runs that were asked for. Safe to call from several threads.
    """

    def __init__(self, keep: int = 8) -> None:
        self._keep = keep
        self._lock = threading.Lock()
        self._readings: OrderedDict[Path, Reading] = OrderedDict()

    def read(self, path: Path) -> tuple[list[dict[str, Any]], int]:
        """Every curve in the journal at `path` so far, and the offset up to which it was read."""
        with self._lock:
            if path not in self._readings:
                self._readings[path] = metric_curves.kept(path)
            reading = self._readings[path]
            self._readings.move_to_end(path)
            while len(self._readings) > self._keep:
                self._readings.popitem(last=False)
            reading.go_on(path)
            return [_curve(key, series) for key, series in reading.series.items()], reading.offset


def _curve(key: Key, series: Series) -> dict[str, Any]:
    scheme, split, name = key
    return {"scheme": scheme, "split": split, "name": name, "points": series.whole()}
