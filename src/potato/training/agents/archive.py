"""The bundle as one file for the way: a `tar.gz` that is the same for the same bundle."""

from __future__ import annotations

import gzip
import os
import tarfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from potato.training.contract.files import sha256_file


@dataclass(frozen=True)
class Archive:
    """A packed bundle: where it is, its bytes, and its SHA-256 in hex."""

    path: Path
    size: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        """As a task's answer."""
        return {**asdict(self), "path": str(self.path)}


def pack(bundle: Path, target: Path) -> Archive:
    """Pack the folder `bundle` into `target`, which appears whole; one that is there already is kept."""
    if not target.exists():
        beside = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            _pack_into(bundle, beside)
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    return Archive(target, target.stat().st_size, sha256_file(str(target)))


def _pack_into(bundle: Path, target: Path) -> None:
    files = sorted(path for path in bundle.rglob("*") if path.is_file())
    with (
        target.open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=5, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in files:
            entry = tarfile.TarInfo(path.relative_to(bundle).as_posix())
            entry.size, entry.mode = path.stat().st_size, 0o600
            with path.open("rb") as file:
                tar.addfile(entry, file)
