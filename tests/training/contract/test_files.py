"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import hashlib
from pathlib import Path

import pytest

from potato.training.contract import files


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old and longer")
    files.write_atomic(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert [found.name for found in tmp_path.iterdir()] == ["x"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.write_atomic(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("links", [True, False])
def test_a_new_file_takes_nobodys_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def none(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(files.os, "link", none)
    path = tmp_path / "x"
    files.write_new(str(path), b"first")
    with pytest.raises(FileExistsError):
        files.write_new(str(path), b"second")
    assert path.read_bytes() == b"first"
    assert [found.name for found in tmp_path.iterdir()] == ["x"]


def test_json_has_the_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    files.write_json(str(tmp_path / "a"), {"b": 1, "ä": [2]})
    files.write_json(str(tmp_path / "b"), {"ä": [2], "b": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_digest_is_sha256(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"z" * 3_000_000)
    assert files.sha256_file(str(tmp_path / "x")) == hashlib.sha256(b"z" * 3_000_000).hexdigest()


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("sentiment", "1-sentiment"),
        ('a/b: "c" <d>\'', "1-a-b-c-d"),
        ("../../etc", "1-etc"),
        ("اسم", "1"),
        (" ", "1"),
        ("a" * 300, "1-" + "a" * 40),
    ],
)
def test_any_name_becomes_a_file_name(name: str, slug: str) -> None:
    """annotation 21"""
    assert files.slug(name, 1) == slug


def test_names_with_the_same_letters_stay_apart() -> None:
    assert files.slug("a/b", 1) != files.slug("a:b", 2)
