"""Potato's own source as it goes to a host: the packages that travel, as one archive named by its content."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import potato

PACKAGES = ("agent", "contract", "host", "trainers", "worker")
"""Under `potato.training`."""


@dataclass(frozen=True)
class Code:
    """The archive (`tar.gz`), and the hash over its files' paths and bytes, in hex."""

    hash: str
    packed: bytes


@lru_cache(maxsize=1)
def code() -> Code:
    """This installation's; read once."""
    root = Path(potato.__file__).parent
    files = {path.relative_to(root.parent).as_posix(): path.read_bytes() for path in sorted(_files(root))}
    digest = hashlib.sha256()
    for name, data in files.items():
        digest.update(b"%s\0%d\0" % (name.encode(), len(data)))
        digest.update(data)
    return Code(digest.hexdigest()[:32], _packed(files))


def _files(root: Path) -> Iterator[Path]:
    yield root / "__init__.py"
    yield root / "training" / "__init__.py"
    for package in PACKAGES:
        for path in (root / "training" / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _packed(files: dict[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o600
            tar.addfile(entry, io.BytesIO(data))
    return raw.getvalue()
