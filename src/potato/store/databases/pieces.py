"""Long writes in short transactions."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

PIECE = 2000
"""Rows a transaction at most, so that an annotator's save never waits long."""

PAUSE_S = 0.005
"""Between two transactions: SQLite's lock is not fair, and a save must get in."""


def in_pieces(rows: Iterable[T], size: int = PIECE) -> Iterator[list[T]]:
    """The rows in lists of at most `size`, with a short pause between one and the next."""
    iterator = iter(rows)
    piece = list(islice(iterator, size))
    while piece:
        yield piece
        piece = list(islice(iterator, size))
        if piece:
            time.sleep(PAUSE_S)
