"""Unpacking a bundle that came over a network: plain files and folders below one folder, and nothing else."""

import gzip
import os
import shutil
import tarfile
import zlib
from typing import IO, Iterator, Set, cast

PIECE = 1 << 20
MAX_MEMBERS = 1_000_000
"""Files and folders; a bundle has a handful, and one for each picture or recording."""
_BLOCK = 4096
"""What a file takes of the disk at least, however short it is."""
_PLAIN = (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE)


class UnsafeArchive(Exception):
    """The archive holds something that a bundle never holds, or is damaged; nothing of it was kept."""


def unpack(archive: str, folder: str) -> None:
    """Unpack the `tar.gz` at `archive` so that `folder` appears whole or not at all.

    Raises `UnsafeArchive` for absolute paths, `..`, links, devices, a name that comes twice, more than the disk has
    room for, headers that would fill the memory, and damage; `OSError` where the disk refuses.
    """
    beside = "%s.%d.part" % (folder, os.getpid())
    shutil.rmtree(beside, ignore_errors=True)
    os.makedirs(beside, mode=0o700)
    try:
        _unpack_into(archive, beside)
        os.rename(beside, folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _unpack_into(archive: str, folder: str) -> None:
    try:
        with gzip.open(archive, "rb") as packed, _open(packed) as tar:
            for member in _safe_members(tar, shutil.disk_usage(folder).free):
                _place(tar, member, os.path.join(folder, *member.name.split("/")))
    except (tarfile.TarError, zlib.error, EOFError, ValueError) as error:
        raise UnsafeArchive("the bundle's archive is damaged: %s" % error) from error
    except OSError as error:
        if error.errno is None:  # gzip's own: not a gzipped file, a wrong checksum
            raise UnsafeArchive("the bundle's archive is damaged: %s" % error) from error
        raise


def _safe_members(tar: tarfile.TarFile, room: int) -> Iterator[tarfile.TarInfo]:
    seen: Set[str] = set()
    for member in tar:
        tar.members = []  # type: ignore[attr-defined]  # it would remember every one of them
        name = member.name
        if member.type not in _PLAIN or member.issparse():
            raise UnsafeArchive("the bundle's archive holds %.200r, which is neither a file nor a folder" % name)
        if "\\" in name or "\0" in name or set(name.split("/")) & {"", ".", ".."}:
            raise UnsafeArchive("the bundle's archive holds the path %.200r, which leads outside it" % name)
        if name in seen:
            raise UnsafeArchive("the bundle's archive holds %.200r twice" % name)
        room -= max(member.size, _BLOCK)
        if room < 0:
            raise UnsafeArchive("the bundle needs more room than the disk has free")
        seen.add(name)
        if len(seen) > MAX_MEMBERS:
            raise UnsafeArchive("the bundle's archive holds more than %d files" % MAX_MEMBERS)
        yield member


def _open(packed: gzip.GzipFile) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast(IO[bytes], _InPieces(packed)), mode="r:")


class _InPieces:
    """A file that is read in pieces, as the content of members is. `tarfile` reads the headers of long names and the
    like whole, however long they say that they are."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        """Read `size` bytes. Raises `UnsafeArchive` for more than a piece."""
        if size > PIECE:
            raise UnsafeArchive("the bundle's archive holds a header of %d bytes" % size)
        return self._file.read(size)


def _place(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    if member.isdir():
        os.makedirs(path, mode=0o700, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    source = tar.extractfile(member)
    assert source is not None  # a regular file
    with source, open(path, "xb") as target:
        shutil.copyfileobj(source, target, PIECE)
