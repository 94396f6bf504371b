"""The task that packs a bundle for its way to an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from potato.project import Project
from potato.store import Database
from potato.training.agents.archive import pack


def pack_bundle(project: Project, database: Database, args: dict[str, Any]) -> dict[str, Any]:
    """Pack the folder `bundle` into the file `archive`; its `size` and `sha256`. Safe to repeat."""
    return pack(Path(args["bundle"]), Path(args["archive"])).as_json()
