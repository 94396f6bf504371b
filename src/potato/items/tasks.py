"""The work of this package that runs in the task child."""

from __future__ import annotations

from typing import Any

from potato.items.loading import load_items
from potato.project import Project
from potato.store import Database
from potato.store.clock import utc_now
from potato.store.imports import apply
from potato.store.lock import exclusive
from potato.store.rederive import rederive
from potato.store.rules import Rules


def load(project: Project, database: Database, _args: dict[str, Any]) -> dict[str, Any]:
    """What stands before serving: finish what an import owes, load items, apply changed rules; the load's report."""
    rules = Rules.of(project)
    report = load_items(project, database)
    with exclusive(project.output_dir, "import"):
        apply(database, rules)
    rederive(database, rules, utc_now())
    return report.as_json()
