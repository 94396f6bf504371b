"""The lock that keeps a second server out of a project's folder."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import psutil  # type: ignore[import-untyped]

from potato.errors import PotatoError

NETWORK_FILE_SYSTEMS = {
    "nfs", "nfs3", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afpfs", "webdav", "davfs", "9p", "afs",
    "fuse.sshfs", "fuse.davfs", "fuse.rclone", "fuse.s3fs", "fuse.gvfsd-fuse", "macfuse",
}  # fmt: skip


class AlreadyServed(PotatoError):
    """Another server has the project's folder. Nothing was started."""

    code = "already_served"
    status = 409

    def __init__(self, folder: Path, holder: str) -> None:
        by = f" (process {holder})" if holder else ""
        super().__init__(
            f"another server{by} is serving {folder}",
            hint="Stop that one first, or give this project another output_annotation_dir.",
        )


class StoreOnNetwork(PotatoError):
    """The store would lie on a file system that other machines write to as well. Nothing was started."""

    code = "store_on_network"
    status = 500

    def __init__(self, folder: Path, file_system: str) -> None:
        super().__init__(
            f"{folder} lies on a network file system ({file_system}), on which the SQLite store would be damaged",
            hint="Put output_annotation_dir on a disk of this machine, or set database_url to a PostgreSQL server.",
        )


class ServerLock:
    """Held by the one server of an output folder, for as long as the process lives; a killed one leaves none behind.

    Use it as a context manager. Entering raises `AlreadyServed`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[str] | None = None

    def __enter__(self) -> ServerLock:
        self._folder.mkdir(parents=True, exist_ok=True)
        file = (self._folder / "server.lock").open("a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read(20).strip()
            file.close()
            raise AlreadyServed(self._folder, holder) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


@contextlib.contextmanager
def exclusive(folder: Path, name: str) -> Iterator[None]:
    """One process at a time in `folder` does what `name` stands for; others wait here. A killed one holds nobody up."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def check_file_system(folder: Path) -> None:
    """Raise `StoreOnNetwork` where `folder`, which need not exist yet, lies on a network file system."""
    kind = file_system(folder)
    if kind.lower() in NETWORK_FILE_SYSTEMS:
        raise StoreOnNetwork(folder, kind)


def file_system(folder: Path) -> str:
    """The type of the file system that `folder` lies on, as the system names it; empty where it does not say."""
    path = folder.resolve()
    mounts = [part for part in psutil.disk_partitions(all=True) if path.is_relative_to(part.mountpoint)]
    return max(mounts, key=lambda part: len(part.mountpoint)).fstype if mounts else ""
