"""Bringing a backup back, into a folder of its own."""

from __future__ import annotations

import contextlib
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
from potato.project import Project
from potato.project.changing import set_database_url
from potato.project.loading import load_or_raise
from potato.store.databases import snapshot, transfer
from potato.store.databases.postgresql import is_postgresql
from potato.store.databases.unreachable import StoreUnsuitable

SQLITE = "sqlite"
"""In place of a database's address: the store is a file."""

_PIECE = 1 << 20


class NotEmpty(PotatoError):
    """There is something where the project would go. Nothing was written."""

    code = "not_empty"
    status = 409


@dataclass(frozen=True)
class Restored:
    """What came back. In `changed_texts` something was replaced that the database cannot keep: NUL characters."""

    file: Path
    items: int
    annotations: int
    runs: int
    changed_texts: int


def restore(backup: Path, folder: Path, database_url: str | None = None) -> Restored:
    """Bring a project back into `folder`, which is empty or made. Everything is checked before any of it counts.

    The store goes where the project file says, or, with `database_url`, to that PostgreSQL database, or into a file
    for `SQLITE`; the project file then says so. Raises `NotEmpty`, `BadBackup` for a file that is none, is cut short
    or was changed, and what `store.transfer.loaded` raises; then `folder` and the database are as they were.
    """
    if folder.exists() and any(folder.iterdir()):
        raise NotEmpty(f"{folder} is not empty", hint="restore into a new folder")
    unpacked = folder.absolute().with_name(f".{folder.absolute().name}.restoring")
    shutil.rmtree(unpacked, ignore_errors=True)
    try:
        _unpack(backup, unpacked)
        contents = _checked(unpacked / STORE)
        if database_url is not None:
            set_database_url(unpacked / PROJECT_FILE, None if database_url == SQLITE else database_url)
        _look_for_another(load_or_raise(unpacked / PROJECT_FILE))
        changed = _settle(unpacked, folder)
    finally:
        shutil.rmtree(unpacked, ignore_errors=True)
    return Restored(folder / PROJECT_FILE, contents.items, contents.annotations, len(contents.finished_runs), changed)


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
            where = f"{error.filename}: " if error.filename not in (None, str(backup), backup) else ""
            raise BadBackup(f"{backup} cannot be brought back: {where}{error.strerror}") from error
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
    except StoreUnsuitable as error:
        raise BadBackup(
            "the store in the backup was made by a newer version of Potato", hint="Restore it with that version."
        ) from error


def _look_for_another(project: Project) -> None:
    """A project whose output folder has a place of its own must not meet what is there."""
    for path in (_store_file(project), project.runs_dir):
        if path is not None and path.exists():
            raise NotEmpty(f"{path} is there already", hint="the project file names that folder; move it away first")


def _store_file(project: Project) -> Path | None:
    """The file that the store is; None for a database."""
    if is_postgresql(project.database_url):
        return None
    return project.task_dir / project.database_url.removeprefix("sqlite:///")


def _settle(unpacked: Path, folder: Path) -> int:
    """Put everything where the project file says; the store counts last. Where that fails, all of it goes again."""
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as failed:
        failed.callback(_clear, folder, itself=made)
        project = _place_project_file(unpacked, folder)
        failed.callback(shutil.rmtree, project.runs_dir, ignore_errors=True)
        with _placed_store(unpacked / STORE, project) as changes:
            if (unpacked / FILES).exists():
                shutil.copytree(unpacked / FILES, folder, dirs_exist_ok=True)
            if (unpacked / RUNS).exists():
                shutil.copytree(unpacked / RUNS, project.runs_dir, dirs_exist_ok=True)
        failed.pop_all()
    return changes.texts


def _clear(folder: Path, *, itself: bool) -> None:
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    if itself:
        folder.rmdir()


def _place_project_file(unpacked: Path, folder: Path) -> Project:
    file = folder / PROJECT_FILE
    shutil.copyfile(unpacked / PROJECT_FILE, file)
    file.chmod(0o600)  # the admin key is in it
    return load_or_raise(file)


@contextlib.contextmanager
def _placed_store(store: Path, project: Project) -> Iterator[transfer.Changes]:
    """Have the store where the project has it once the block ends; not at all where it raises."""
    project.output_dir.mkdir(parents=True, exist_ok=True)
    target = _store_file(project)
    with contextlib.nullcontext(transfer.Changes()) if target else transfer.loaded(store, project.database_url) as done:
        yield done
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        shutil.copyfile(store, part)
        with part.open("rb") as copied:
            os.fsync(copied.fileno())
        part.replace(target)
