"""A data file as pieces of new items, ready for the store; a large file is read ahead by a process of its own.

Reading and hashing a row costs about as much as storing it, so that two processes load a large file in half the time.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import subprocess
import sys
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import IO

from potato.errors import PotatoError
from potato.items.problems import RowProblem
from potato.items.reading import Row, read_rows
from potato.items.text import text_hash
from potato.project.models import ItemProperties
from potato.store.intake import PIECE, NewItem

READ_AHEAD_BYTES = 32 << 20
"""A file of this size or more is read by a process of its own."""

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode


class ReaderEnded(PotatoError):
    """The process that read a data file ended before the file did. Nothing was loaded."""

    code = "reader_ended"

    def __init__(self, name: str, status: int) -> None:
        super().__init__(
            f"the process that was reading {name} ended early (exit status {status})",
            hint="It may have been killed for memory, or by hand. Try again; the project is as it was.",
        )


def read_pieces(
    path: Path, name: str, properties: ItemProperties, shown: Sequence[str] = ()
) -> Iterator[list[NewItem] | RowProblem]:
    """The items of `path`, at most `PIECE` at once, and what is wrong in it, streamed. Raises `OSError`.

    `shown` are the fields that questions show.
    """
    if path.stat().st_size < READ_AHEAD_BYTES:
        return _pieces(path, name, properties, shown)
    return _ahead(path, name, properties, shown)


def _pieces(
    path: Path, name: str, properties: ItemProperties, shown: Sequence[str]
) -> Iterator[list[NewItem] | RowProblem]:
    piece: list[NewItem] = []
    for row in read_rows(path, name, properties, shown):
        if isinstance(row, RowProblem):
            yield row
            continue
        try:
            piece.append(_item(row))
        except ValueError:  # JSON may say 1e999, and no program can hold it
            yield RowProblem(row.source, row.line, "a field holds a number that is too large, such as 1e999")
        if len(piece) == PIECE:
            yield piece
            piece = []
    yield piece


def _item(row: Row) -> NewItem:
    fields = _encode(row.fields) if row.fields else "{}"
    said = "\0".join((row.id, row.text, row.image or "", row.audio or "", fields))  # none of them can hold a zero
    return NewItem(
        row.id,
        row.text,
        row.image,
        row.audio,
        fields,
        blake2b(said.encode(), digest_size=16).digest(),
        text_hash(row.text, row.image, row.audio),
        row.source,
        row.line,
    )


def _ahead(
    path: Path, name: str, properties: ItemProperties, shown: Sequence[str]
) -> Iterator[list[NewItem] | RowProblem]:
    command = [sys.executable, "-m", "potato.items.pieces", str(path), name, properties.model_dump_json(), *shown]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            for frame in _frames(child.stdout):
                yield frame if isinstance(frame, RowProblem) else [NewItem._make(values) for values in frame]
        except EOFError:
            raise ReaderEnded(name, child.wait()) from None
        finally:
            child.kill()  # nothing to lose: at the end it has ended, and before it nobody wants the rest


def _frames(pipe: IO[bytes]) -> Iterator[list[tuple[object, ...]] | RowProblem]:
    while (frame := pickle.load(pipe)) is not None:  # noqa: S301 (our own child wrote it)
        yield frame


def _serve(path: str, name: str, properties: str, *shown: str) -> None:
    """Write the pieces to standard output, and None after the last; end quietly when nobody listens any more."""
    with contextlib.suppress(BrokenPipeError):
        for piece in _pieces(Path(path), name, ItemProperties.model_validate_json(properties), shown):
            frame = piece if isinstance(piece, RowProblem) else [tuple(item) for item in piece]
            pickle.dump(frame, sys.stdout.buffer, pickle.HIGHEST_PROTOCOL)
        pickle.dump(None, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve(*sys.argv[1:])
