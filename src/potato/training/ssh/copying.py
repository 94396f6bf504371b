"""Bringing a model's files home: one raw stream a file, checked, and at its place only when it is whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from potato.training.contract.files import sync_folder
from potato.training.ssh.errors import HostFailed
from potato.training.ssh.session import Session
from potato.training.ssh.text import clean, clean_path
from potato.training.ssh.writing import Writing

MOST_FILES = 20_000
TRIES = 2

Progress = Callable[[int, int], None]
"""Bytes that are here, of all that are to come."""


class NotStored(Exception):
    """This machine's disk did not take it; the text says why."""


class Damaged(Exception):
    """A file did not come over whole; the text says which."""


@dataclass(frozen=True)
class Remote:
    """A file there: its path under the artifacts folder, with `/`, and its bytes."""

    path: str
    size: int


@dataclass(frozen=True)
class Listing:
    """The artifacts of an attempt, and the absolute folder that they are in. `odd` counts names that are none."""

    attempt: int
    folder: str
    files: list[Remote] = field(default_factory=list)
    odd: int = 0


def listing(session: Session, run_id: str) -> Listing:
    """What the host holds of a run's model. What it says is checked: only relative paths below one folder remain.
    Raises `HostFailed`, `Lost`, `HostSilent`."""
    answer = session.call("list_artifacts", run_id=run_id)
    told = answer.get("files")
    entries = told if isinstance(told, list) else []
    files = [file for file in map(_remote, entries[:MOST_FILES]) if file is not None]
    attempt = answer.get("attempt")
    return Listing(
        attempt if isinstance(attempt, int) else 0,
        clean_path(answer.get("folder") or "", 4000),
        sorted({file.path: file for file in files}.values(), key=lambda file: file.path),
        len(entries) - len(files),
    )


def is_safe(path: str) -> bool:
    """Whether a path of a host's may be used below a folder here."""
    parts = path.split("/")
    return (
        0 < len(path) <= 1000
        and path.isprintable()
        and "\\" not in path
        and not set(parts) & {"", ".", ".."}
        and all(len(part.encode("utf-8", "replace")) <= 255 for part in parts)
    )


def _remote(entry: Any) -> Remote | None:
    if not isinstance(entry, dict):
        return None
    path, size = entry.get("path"), entry.get("bytes")
    if not isinstance(path, str) or not is_safe(path) or not isinstance(size, int) or size < 0:
        return None
    return Remote(path, size)


class Copying:
    """Copies files of one listing into `target`; begun again after a break, it goes on where it was.

    What is not whole yet lies in `beside`. `silence_s` is how long nothing may come.
    """

    def __init__(self, run_id: str, target: Path, beside: Path, silence_s: float, progress: Progress) -> None:
        self._run_id = run_id
        self._target = target
        self._beside = beside
        self._silence_s = silence_s
        self._progress = progress

    def run(self, session: Session, attempt: int, files: Iterable[Remote]) -> None:
        """Bring `files` home. Raises `HostFailed`, `HostSilent`, `Lost`, `NotStored` and `Damaged`."""
        wanted = list(files)
        self._total = sum(file.size for file in wanted)
        self._here = 0
        try:
            self._target.mkdir(exist_ok=True)
            for file in wanted:
                self._bring(session, attempt, file)
            shutil.rmtree(self._beside, ignore_errors=True)
        except OSError as error:
            raise NotStored(f"{error.strerror or error}") from error

    def _bring(self, session: Session, attempt: int, file: Remote) -> None:
        place, part = self._target / file.path, self._beside / file.path
        if not (place.is_file() and place.stat().st_size == file.size):
            part.parent.mkdir(parents=True, exist_ok=True)
            if not any(self._fetch(session, attempt, file, part) for _ in range(TRIES)):
                raise Damaged(f"{file.path} did not come over whole")
            place.parent.mkdir(parents=True, exist_ok=True)
            part.replace(place)
            sync_folder(str(place.parent))
        self._here += file.size
        self._progress(self._here, self._total)

    def _fetch(self, session: Session, attempt: int, file: Remote, part: Path) -> bool:
        """Have the rest of a file in `part`; whether it is the host's, byte for byte."""
        with part.open("ab") as target:
            if target.tell() > file.size:
                target.truncate(0)
            offset = target.tell()
            session.send(
                {
                    "call": "send_artifact",
                    "run_id": self._run_id,
                    "attempt": attempt,
                    "path": file.path,
                    "offset": offset,
                }
            )
            doing = "the model was copied"
            header, length = self._head(session, doing)
            if not header.get("ok"):
                raise HostFailed(session.host, "artifact", clean(header.get("error"), 1000), None)
            if offset + length != file.size:
                raise Damaged(f"{file.path} changed while it was copied")
            with Writing(target, part, offset, length) as writing, session.talking(doing, self._silence_s):
                self._take(session, writing, offset, length)
            told, _ = session.receive(doing, self._silence_s)
        if told.get("sha256") == writing.digest():
            return True
        part.unlink()
        return False

    def _head(self, session: Session, doing: str) -> tuple[dict[str, Any], int]:
        """The answer's header, and the length of the body that follows it."""
        with session.talking(doing, self._silence_s):
            header, length = session.channel.receive_header(self._silence_s)
            while "progress" in header and not length:
                header, length = session.channel.receive_header(self._silence_s)
        return header, length

    def _take(self, session: Session, writing: Writing, offset: int, length: int) -> None:
        """Have the `length` bytes that come now written at `offset`."""
        end = offset + length
        while offset < end:
            buffer = writing.room()
            count = session.channel.read_into(memoryview(buffer)[: end - offset], self._silence_s)
            writing.put(buffer, count)
            offset += count
            self._progress(self._here + offset, self._total)
