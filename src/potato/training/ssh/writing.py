"""Writing what comes over a network, and hashing it, in a thread of its own: the network never waits for the disk."""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from pathlib import Path
from typing import BinaryIO

PIECE = 128 << 10
PIECES = 8
"""Small pieces, which are still in the core's own cache when they are hashed."""


class Writing:
    """Appends `length` bytes to a file that has `offset`, within a `with`; afterwards all are on the disk.

    `room` lends a buffer, `put` has what was filled of it written. The memory is the same few buffers all along.
    """

    def __init__(self, file: BinaryIO, path: Path, offset: int, length: int) -> None:
        self._file = file
        self._path = path
        self._offset = offset
        self._digest = hashlib.sha256()
        self._free: queue.Queue[bytearray] = queue.Queue()
        self._filled: queue.Queue[tuple[bytearray, int] | None] = queue.Queue()
        self._failure: OSError | None = None
        for _ in range(PIECES):
            self._free.put(bytearray(min(PIECE, length)))
        self._thread = threading.Thread(target=self._work, name="writing", daemon=True)

    def __enter__(self) -> Writing:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._filled.put(None)
        self._thread.join()
        if self._failure is not None and kind is None:
            raise self._failure

    def room(self) -> bytearray:
        """A buffer to fill, once one is free. Raises `OSError` where the disk did not take what came before."""
        buffer = self._free.get()
        if self._failure is not None:
            raise self._failure
        return buffer

    def put(self, buffer: bytearray, count: int) -> None:
        """Have the first `count` bytes of a buffer written; it is given back with this."""
        self._filled.put((buffer, count))

    def digest(self) -> str:
        """The SHA-256 of the whole file in hex, once all is written."""
        return self._digest.hexdigest()

    def _work(self) -> None:
        try:
            self._read_begun()
            while (filled := self._filled.get()) is not None:
                self._write(*filled)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            self._failure = error
            self._free.put(bytearray())  # whoever waits for room is told

    def _write(self, buffer: bytearray, count: int) -> None:
        piece = memoryview(buffer)[:count]
        self._file.write(piece)
        self._digest.update(piece)
        self._free.put(buffer)

    def _read_begun(self) -> None:
        """What an earlier try brought counts into the digest."""
        with self._path.open("rb") as file:
            left = self._offset
            while left and (piece := file.read(min(left, PIECE))):
                self._digest.update(piece)
                left -= len(piece)
