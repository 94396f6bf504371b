"""Making a backup. The server may run meanwhile; it never waits for it."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from potato import __version__
from potato.backup.layout import FILES, FORMAT, MANIFEST, PROJECT_FILE, RUNS, STORE, Member
from potato.project import Project
from potato.store.clock import to_text, utc_now
from potato.store.databases import snapshot


@dataclass(frozen=True)
class Saved:
    """What a backup holds. `outside` are files of the project that lie elsewhere and are not in it."""

    bytes: int
    items: int
    annotations: int
    runs: int
    outside: list[Path]


def save(project: Project, target: Path) -> Saved:
    """Write a backup of `project` to `target`, whole or not at all; an older file there is replaced.

    It holds the store as it is at one instant, the finished runs with their models, the project file, and the files
    in the project's folder that it names. Raises `NoStore` before the first start.
    """
    part = target.with_name(target.name + ".part")
    try:
        with tempfile.TemporaryDirectory(dir=target.absolute().parent) as folder:
            copied = snapshot.copy(project.database_url, Path(folder) / "potato.db")
            part.unlink(missing_ok=True)
            with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as raw:  # noqa: PTH123 - by mode
                saved = _write(project, copied, raw, Path(folder) / "potato.db")
                raw.flush()
                os.fsync(raw.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return saved


def _write(project: Project, copied: snapshot.Contents, raw: IO[bytes], store: Path) -> Saved:
    inside, outside = _named(project)
    members = []
    with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as archive:
        members.append(_add(archive, project.file, PROJECT_FILE))
        members.append(_add(archive, store, STORE))
        members += [_add(archive, path, name) for path, name in inside]
        members += [
            member
            for path, name in _run_files(project, copied.finished_runs)
            if (member := _add_if_there(archive, path, name)) is not None
        ]
        manifest = {
            "format": FORMAT,
            "version": __version__,
            "made_at": to_text(utc_now()),
            "project": project.config.annotation_task_name,
            "items": copied.items,
            "annotations": copied.annotations,
            "files": [member.as_json() for member in members],
        }
        _add_bytes(archive, json.dumps(manifest, indent=1).encode(), MANIFEST)
    return Saved(raw.tell(), copied.items, copied.annotations, len(copied.finished_runs), outside)


def _named(project: Project) -> tuple[list[tuple[Path, str]], list[Path]]:
    """The files that the project file names: those in its folder with their place in the backup, and the others."""
    root = project.file.parent.resolve()
    inside, outside = [], []
    for path in [*project.data_files, *_guidelines(project)]:
        if not path.is_file():
            continue  # its items are in the store
        whole = path.resolve()
        if whole.is_relative_to(root):
            inside.append((whole, f"{FILES}/{whole.relative_to(root).as_posix()}"))
        else:
            outside.append(path)
    return inside, outside


def _guidelines(project: Project) -> list[Path]:
    return [project.task_dir / project.config.guidelines] if project.config.guidelines else []


def _run_files(project: Project, runs: list[str]) -> Iterator[tuple[Path, str]]:
    for run in runs:
        folder = project.runs_dir / run
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                yield path, f"{RUNS}/{run}/{path.relative_to(folder).as_posix()}"


class _Hashing:
    """A file that is read once, by the archive, and hashed on the way."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


def _add_if_there(archive: tarfile.TarFile, path: Path, name: str) -> Member | None:
    """As `_add`; None for a file that the server has removed since it was listed."""
    try:
        return _add(archive, path, name)
    except FileNotFoundError:
        return None


def _add(archive: tarfile.TarFile, path: Path, name: str) -> Member:
    with path.open("rb") as file:
        info = tarfile.TarInfo(name)
        info.size = os.fstat(file.fileno()).st_size
        info.mode = 0o600
        hashing = _Hashing(file)
        archive.addfile(info, hashing)
    return Member(name, info.size, hashing.digest.hexdigest())


def _add_bytes(archive: tarfile.TarFile, data: bytes, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    info.mode = 0o600
    archive.addfile(info, io.BytesIO(data))
