"""The work of this package that runs in the task child."""

from __future__ import annotations

from typing import Any

from potato.items.loading import load_items
from potato.project import Project
from potato.store import Database


def load(project: Project, database: Database, _args: dict[str, Any]) -> dict[str, Any]:
    """`load_items`; its report as JSON."""
    return load_items(project, database).as_json()
