"""How a backup is laid out: a `tar.gz` whose last member, the manifest, tells what must be in it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from potato.errors import PotatoError

FORMAT = 1
MANIFEST = "manifest.json"
PROJECT_FILE = "config.yaml"
STORE = "store/potato.db"
RUNS = "runs"
FILES = "files"
"""The project's own files, by their path from its folder."""


class BadBackup(PotatoError):
    """The file is no backup, or not a whole one."""

    code = "bad_backup"
    status = 422


@dataclass(frozen=True)
class Member:
    """A file in the backup."""

    path: str
    bytes: int
    sha256: str

    def as_json(self) -> dict[str, Any]:
        """For the manifest."""
        return asdict(self)
