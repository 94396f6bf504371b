"""Archives that come over a network."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tracemalloc
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from potato.training.agent.unpack import UnsafeArchive, unpack

SPARSE = {
    f"GNU.sparse.{name}": value for name, value in [("major", "1"), ("minor", "0"), ("realsize", "9"), ("name", "big")]
}
Usage = namedtuple("Usage", "total used free")


def entry(name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"", **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, len(content)
    for field, value in more.items():
        setattr(info, field, value)
    return info, content


@pytest.fixture
def archive(tmp_path: Path) -> Callable[..., str]:
    def make(*entries: tuple[tarfile.TarInfo, bytes], format: int = tarfile.PAX_FORMAT) -> str:
        path = tmp_path / "x.tar.gz"
        with tarfile.open(path, "w:gz", format=format) as tar:
            for info, content in entries:
                tar.addfile(info, io.BytesIO(content))
        return str(path)

    return make


def test_files_and_folders_come_out(archive: Callable[..., str], tmp_path: Path) -> None:
    path = archive(entry("a", content=b"1"), entry("d", tarfile.DIRTYPE), entry("d/é 好", content=b"2"), entry("e/f/g"))
    unpack(path, str(tmp_path / "out"))
    found = {
        str(file.relative_to(tmp_path / "out")): file.read_bytes()
        for file in (tmp_path / "out").rglob("*")
        if file.is_file()
    }
    assert found == {"a": b"1", "d/é 好": b"2", "e/f/g": b""}


@pytest.mark.parametrize(
    "bad",
    [
        entry("/etc/passwd", content=b"x"),
        entry("../outside", content=b"x"),
        entry("a/../../outside", content=b"x"),
        entry("./a", content=b"x"),
        entry("a//b", content=b"x"),
        entry("a\\b", content=b"x"),
        entry("link", tarfile.SYMTYPE, linkname="/etc"),
        entry("link", tarfile.LNKTYPE, linkname="first"),
        entry("pipe", tarfile.FIFOTYPE),
        entry("device", tarfile.CHRTYPE),
        entry("device", tarfile.BLKTYPE),
        entry("old", tarfile.CONTTYPE),
        entry("first", content=b"again"),
        entry("big", content=b"x", pax_headers=SPARSE),
    ],
    ids=lambda bad: f"{bad[0].name}-{bad[0].type.decode()}",
)  # fmt: skip
def test_what_a_bundle_never_holds_is_refused_whole(
    archive: Callable[..., str], tmp_path: Path, bad: tuple[tarfile.TarInfo, bytes]
) -> None:
    path = archive(entry("first", content=b"1"), bad)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UnsafeArchive):
        unpack(path, str(tmp_path / "out"))
    assert sorted(tmp_path.rglob("*")) == before
    assert not (tmp_path.parent / "outside").exists()


@pytest.mark.parametrize("cut", [0, 1, 10, -20])
def test_an_archive_that_is_damaged_is_refused(archive: Callable[..., str], tmp_path: Path, cut: int) -> None:
    path = Path(archive(entry("a", content=os.urandom(100_000))))
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(UnsafeArchive, match="damaged"):
        unpack(str(path), str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_more_than_the_disk_has_room_for_is_refused_before_it_is_full(
    archive: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = archive(entry("a", content=b"x" * 1000))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(1000, 1, 999))
    with pytest.raises(UnsafeArchive, match="more room than the disk has free"):
        unpack(path, str(tmp_path / "out"))


def test_a_header_that_would_fill_the_memory_is_refused(archive: Callable[..., str], tmp_path: Path) -> None:
    """A few kilobytes of archive, and 200 MB of a name's header."""
    path = archive(entry("a", pax_headers={"comment": "x" * 200_000_000}))
    assert Path(path).stat().st_size < 400_000
    tracemalloc.start()
    try:
        with pytest.raises(UnsafeArchive, match="a header of 2"):
            unpack(path, str(tmp_path / "out"))
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_short_files_without_end_are_refused(
    archive: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes a block of the disk and some memory, though it holds nothing."""
    path = archive(*(entry(str(number)) for number in range(12)))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Usage(100_000, 55_000, 45_000))
    with pytest.raises(UnsafeArchive, match="more room"):
        unpack(path, str(tmp_path / "out"))
    monkeypatch.undo()
    monkeypatch.setattr("potato.training.agent.unpack.MAX_MEMBERS", 11)
    with pytest.raises(UnsafeArchive, match="more than 11 files"):
        unpack(path, str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_large_file_comes_out_as_it_was(archive: Callable[..., str], tmp_path: Path) -> None:
    """Longer than the pieces that it is read in, under a name that needs a header of its own."""
    name, content = "é" * 120, os.urandom(3 << 20)
    unpack(archive(entry(name, content=content)), str(tmp_path / "out"))
    assert (tmp_path / "out" / name).read_bytes() == content
