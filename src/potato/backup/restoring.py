"""Bringing a backup back, into a folder of its own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from potato.backup.layout import FILES, FORMAT, MANIFEST, PROJECT_FILE, RUNS, STORE, BadBackup, Member
from potato.errors import PotatoError
from potato.project.loading import load_or_raise
from potato.store import snapshot

_PIECE = 1 << 20


class NotEmpty(PotatoError):
    """There is something where the project would go. Nothing was written."""

    code = "not_empty"
    status = 409


@dataclass(frozen=True)
class Restored:
    """What came back."""

    file: Path
    items: int
    annotations: int
    runs: int


def restore(backup: Path, folder: Path) -> Restored:
    """Bring a project back into `folder`, which is empty or made. Everything is checked before any of it counts.

    Raises `NotEmpty`, or `BadBackup` for a file that is none, is cut short or was changed; then `folder` is as it was.
    """
    if folder.exists() and any(folder.iterdir()):
        raise NotEmpty(f"{folder} is not empty", hint="restore into a new folder")
    unpacked = folder.absolute().with_name(f".{folder.absolute().name}.restoring")
    shutil.rmtree(unpacked, ignore_errors=True)
    try:
        _unpack(backup, unpacked)
        contents = _checked(unpacked / STORE)
        _look_for_another(unpacked)
        _settle(unpacked, folder)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    return Restored(folder / PROJECT_FILE, contents.items, contents.annotations, len(contents.finished_runs))


def _unpack(backup: Path, target: Path) -> None:
    found: dict[str, Member] = {}
    manifest: Mapping[str, Any] | None = None
    try:
        with tarfile.open(backup, "r|gz") as archive:
            for info, file in _files(archive):
                if info.name == MANIFEST:
                    manifest = json.loads(file.read())
                else:
                    found[info.name] = _write(file, info, target / _safe(info.name))
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise BadBackup(f"{backup} cannot be brought back: {error.strerror}") from error
        raise BadBackup(f"{backup} is no backup, or not a whole one") from error
    _compare(backup, manifest, found)


def _files(archive: tarfile.TarFile) -> Iterator[tuple[tarfile.TarInfo, IO[bytes]]]:
    for info in archive:
        file = archive.extractfile(info) if info.isreg() else None
        if file is None:
            raise BadBackup(f"the backup holds {info.name!r:.200}, which is no file")
        yield info, file


def _safe(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    known = name in (PROJECT_FILE, STORE) or path.parts[:1] in ((RUNS,), (FILES,))
    if not known or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise BadBackup(f"the backup holds {name!r:.200}, which belongs to no backup")
    return path


def _write(source: IO[bytes], info: tarfile.TarInfo, path: Path) -> Member:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with path.open("xb") as file:
        while piece := source.read(_PIECE):
            digest.update(piece)
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    return Member(info.name, info.size, digest.hexdigest())


def _compare(backup: Path, manifest: Mapping[str, Any] | None, found: Mapping[str, Member]) -> None:
    if not isinstance(manifest, dict):
        raise BadBackup(f"{backup} is no backup, or not a whole one")
    if manifest.get("format") != FORMAT:
        raise BadBackup(f"{backup} was made by another version of Potato", hint="restore it with that version")
    if manifest.get("files") != [member.as_json() for member in found.values()]:
        raise BadBackup(f"{backup} does not hold what its manifest says; it was changed or damaged")


def _checked(store: Path) -> snapshot.Contents:
    try:
        return snapshot.look(store)
    except snapshot.DamagedStore as error:
        raise BadBackup(f"the store in the backup cannot be used: {error.message}") from error


def _look_for_another(unpacked: Path) -> None:
    """A project whose output folder has a place of its own must not meet what is there."""
    store = load_or_raise(unpacked / PROJECT_FILE).output_dir / "potato.db"
    if store.exists():
        raise NotEmpty(f"{store} is there already", hint="the project file names that folder; move it away first")


def _settle(unpacked: Path, folder: Path) -> None:
    """Put everything where the project file says; the store comes last."""
    folder.mkdir(parents=True, exist_ok=True)
    if (unpacked / FILES).exists():
        shutil.copytree(unpacked / FILES, folder, dirs_exist_ok=True)
    shutil.copyfile(unpacked / PROJECT_FILE, folder / PROJECT_FILE)
    project = load_or_raise(folder / PROJECT_FILE)
    project.output_dir.mkdir(parents=True, exist_ok=True)
    if (unpacked / RUNS).exists():
        shutil.copytree(unpacked / RUNS, project.runs_dir, dirs_exist_ok=True)
    store = project.output_dir / "potato.db"
    part = store.with_name("potato.db.part")
    shutil.copyfile(unpacked / STORE, part)
    with part.open("rb") as copied:
        os.fsync(copied.fileno())
    part.replace(store)
