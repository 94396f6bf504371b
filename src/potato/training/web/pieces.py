"""A run's text files, read from a byte offset on, in whole lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PIECE = 64 * 1024
"""How much of a growing text is read at once (bytes)."""


@dataclass(frozen=True)
class Text:
    """Some of a text file, the offset to go on from, and whether more lies ready."""

    text: str
    next: int
    more: bool = False


def read_on(path: Path, after: int) -> Text:
    """The whole lines from the byte offset `after` on, at most a piece; nothing where the file is absent."""
    try:
        with path.open("rb") as file:
            file.seek(after)
            data = file.read(PIECE)
    except FileNotFoundError:
        return Text("", after)
    end = data.rfind(b"\n") + 1
    if end == 0 and len(data) == PIECE:  # one endless line: better in pieces than never
        end = PIECE
    return Text(data[:end].decode("utf-8", "replace"), after + end, len(data) == PIECE)


def read_tail(path: Path, length: int = PIECE) -> Text:
    """The last whole lines of the file, at most `length` bytes; nothing where the file is absent."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = max(0, size - length)
            file.seek(start)
            data = file.read(size - start)
    except FileNotFoundError:
        return Text("", 0)
    if start:
        data = data[data.find(b"\n") + 1 :]
    end = data.rfind(b"\n") + 1
    return Text(data[:end].decode("utf-8", "replace"), size - (len(data) - end))


def stream(path: Path, size: int) -> Iterator[bytes]:
    """The first `size` bytes of a file, in pieces; what is added meanwhile is left for another time."""
    with path.open("rb") as file:
        while size > 0 and (data := file.read(min(PIECE, size))):
            size -= len(data)
            yield data
