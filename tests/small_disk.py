"""A disk of a few megabytes, for tests of what happens when it is full."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from conftest import missing


class SmallDisk:
    """A file system in memory, mounted at a folder."""

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        if _mount("-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)) != 0:
            missing("the right to mount a file system")

    def grow(self, megabytes: int) -> None:
        """Have more room."""
        assert _mount("-o", f"remount,size={megabytes}m", str(self.folder)) == 0

    def fill(self) -> None:
        """Leave no room at all."""
        with (self.folder / "filler").open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(4096))

    def empty(self) -> None:
        """Give the room back that `fill` took."""
        (self.folder / "filler").unlink()

    def close(self) -> None:
        """Take it away, whoever still has files of it open."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=True)


def _mount(*arguments: str) -> int:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int = 2) -> Iterator[SmallDisk]:
    """A disk at `folder` until the block ends."""
    disk = SmallDisk(folder, megabytes)
    try:
        yield disk
    finally:
        disk.close()
