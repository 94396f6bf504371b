"""Reading what a worker wrote, however much it is, without holding up the pages, which run beside it."""

from __future__ import annotations

import time

from potato.training.contract.events import Event, decode

SLICE = 64 * 1024
"""Bytes that are read between two rests."""
REST_S = 0.001
"""Long enough for a thread that waits for the interpreter to get it."""

_METRIC = b'{"v":1,"event":"metric",'
_SPLIT = b'"split":'
_TRAIN = b'"split":"train"'


def read_events(data: bytes) -> tuple[list[Event], int]:
    """The events of the whole lines at the start of `data` that change a run or its log, and how many bytes all whole
    lines took.

    Points of the training curve are left out: a worker may write thousands a second, and whoever draws the curve reads
    it from the file.
    """
    start, end = 0, data.rfind(b"\n") + 1
    events: list[Event] = []
    while start < end:
        stop = _end_of_slice(data, start, end)
        lines = data[start:stop].split(b"\n")
        events += [decode(line) for line in lines if not is_training_point(line) and line.strip()]
        start = stop
        if start < end:
            time.sleep(REST_S)
    return events, end


def is_training_point(line: bytes) -> bool:
    """Whether the line is, as `EventWriter` writes it, a metric of the split `train`."""
    return line.startswith(_METRIC) and _TRAIN in line and line.count(_SPLIT) == 1


def _end_of_slice(data: bytes, start: int, end: int) -> int:
    """After the last whole line of the slice, or else after the line that is longer."""
    return data.rfind(b"\n", start, min(end, start + SLICE)) + 1 or data.index(b"\n", start) + 1
