"""Files that arrive in pieces: append at an offset, finish with a check.

One rule for all of them: the sender says where its piece belongs, the answer says how much is held, and the sender
goes on from there. A piece that comes twice changes nothing.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from potato.errors import PotatoError
from potato.training.agents.errors import Incomplete, NotStoredHere, PredictionsTooLarge, UnknownFile, WrongOffset
from potato.training.contract.files import sha256_file, sync_folder

_log = logging.getLogger("potato.runs")

GROWING = ("events.jsonl", "stderr.log", "agent.log")
"""Files whose every attempt follows the last in one file."""
PREDICTIONS = "predictions.jsonl"
FILES = (*GROWING, PREDICTIONS)


@dataclass(frozen=True)
class Declared:
    """A whole file, as its sender describes it: bytes, and SHA-256 in hex."""

    size: int
    sha256: str


class Intake:
    """One attempt's files, arriving in the run's folder.

    `bases` says where this attempt begins in each growing file. Methods may be called from any thread.
    """

    def __init__(self, folder: Path, bases: Mapping[str, int], max_predictions_mb: int) -> None:
        self._folder = folder
        self._bases = bases
        self._limit_mb = max_predictions_mb
        self._lock = threading.Lock()
        self._sums: dict[str, tuple[hashlib._Hash, int]] = {}
        self._closed: PotatoError | None = None

    def close(self, why: PotatoError) -> None:
        """Take nothing more: whatever still comes is answered `why`. What is being written is waited for, so that a
        newer attempt begins where this one has ended."""
        with self._lock:
            self._closed = self._closed or why

    def append(self, name: str, offset: int, piece: bytes) -> int:
        """Put a piece in its place; the length held then.

        Raises `UnknownFile`, `WrongOffset` for a piece past the end, `PredictionsTooLarge`, why it was closed, and
        `NotStoredHere` where the disk is full: then what is held is as it was.
        """
        path = self._path(name)
        with self._open():
            held = self._held(name)
            if offset > held:
                raise WrongOffset(name, offset, held)
            fresh = piece[held - offset :]
            if not fresh:
                return held
            if name == PREDICTIONS and held + len(fresh) > self._limit_mb * 1_000_000:
                raise PredictionsTooLarge(self._limit_mb)
            _put(path, self._base(name) + held, fresh)
            self._add(name, held, fresh)
            return held + len(fresh)

    def held(self) -> dict[str, int]:
        """How much of each file is here, counted from this attempt's beginning."""
        with self._lock:
            return {name: self._held(name) for name in FILES}

    def finish(self, declared: Mapping[str, Declared], then: Callable[[], None] = lambda: None) -> None:
        """Check every declared file, let the predictions appear under their name, and do what is to follow before
        anything else of this attempt. Safe to repeat, where `then` is.

        Raises `UnknownFile`, why it was closed, `NotStoredHere`, or `Incomplete` with the lengths to go on from; a file
        whose bytes differ is begun anew.
        """
        for name in declared:
            self._path(name)
        with self._open():
            for name, file in declared.items():
                self._check(name, file)
            part = self._path(PREDICTIONS)
            if PREDICTIONS in declared and part.exists():
                part.replace(self._folder / PREDICTIONS)
                sync_folder(str(self._folder))
            then()

    @contextmanager
    def _open(self) -> Iterator[None]:
        with self._lock:
            if self._closed is not None:
                raise self._closed
            try:
                yield
            except OSError as error:
                _log.error("a file could not be stored in %s: %s", self._folder, error)
                raise NotStoredHere(error) from error

    def _check(self, name: str, file: Declared) -> None:
        path = self._path(name)
        done = self._folder / PREDICTIONS
        if name == PREDICTIONS and not path.exists() and done.exists() and sha256_file(str(done)) == file.sha256:
            return  # the same result, told again
        held = self._held(name)
        if held < file.size:
            raise Incomplete(name, {other: self._held(other) for other in FILES})
        if held > file.size or self._digest(name, held) != file.sha256:
            self._sums.pop(name, None)
            os.truncate(path, self._base(name))
            raise Incomplete(name, {other: self._held(other) for other in FILES})
        _sync(path)

    def _add(self, name: str, held: int, piece: bytes) -> None:
        """Go on with the file's digest, so that nobody waits in the end until gigabytes are read again."""
        digest, length = self._sums.get(name) or (hashlib.sha256(), 0)
        if length == held:  # else an earlier server process took its beginning
            digest.update(piece)
            self._sums[name] = digest, held + len(piece)

    def _digest(self, name: str, held: int) -> str:
        digest, length = self._sums.get(name) or (None, 0)
        if digest is not None and length == held:
            return digest.hexdigest()
        return _digest(self._path(name), self._base(name))

    def _path(self, name: str) -> Path:
        if name not in FILES:
            raise UnknownFile(name, FILES)
        return self._folder / (f"{name}.part" if name == PREDICTIONS else name)

    def _base(self, name: str) -> int:
        return self._bases.get(name, 0)

    def _held(self, name: str) -> int:
        try:
            return max(0, self._path(name).stat().st_size - self._base(name))
        except FileNotFoundError:
            return 0


def begin_attempt(folder: Path) -> dict[str, int]:
    """Make room for a new attempt: where each growing file ends now, a torn last line closed; no predictions."""
    bases = {}
    for name in GROWING:
        path = folder / name
        if path.exists() and path.stat().st_size and not _ends_a_line(path):
            _put(path, path.stat().st_size, b"\n")
        bases[name] = path.stat().st_size if path.exists() else 0
    (folder / f"{PREDICTIONS}.part").unlink(missing_ok=True)
    return bases


def _put(path: Path, end: int, data: bytes) -> None:
    """Add to the file of `end` bytes, at its place: of two servers that take the same piece, because one was stalled
    and the other elected meanwhile, the second changes nothing."""
    file, rest, at = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666), memoryview(data), end
    try:
        while rest:
            wrote = os.pwrite(file, rest, at)
            rest, at = rest[wrote:], at + wrote
    except OSError:
        os.ftruncate(file, end)  # half a piece would be taken for a whole one
        raise
    finally:
        os.close(file)


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def _digest(path: Path, start: int) -> str:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            file.seek(start)
            for piece in iter(lambda: file.read(1 << 20), b""):
                digest.update(piece)
    except FileNotFoundError:
        pass  # declared empty, and nothing came
    return digest.hexdigest()


def _sync(path: Path) -> None:
    if path.exists():
        with path.open("rb") as file:
            os.fsync(file.fileno())
