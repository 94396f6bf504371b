"""The tasks by name. Each is `module:function`, so that this package imports nothing above it; the function takes
`(project, database, args)` and returns JSON. Repeating a task must be harmless: its process may die at any instant."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from potato.project import Project
from potato.store import Database

Task = Callable[[Project, Database, dict[str, Any]], Any]

TASKS = {
    "admin.agreement": "potato.admin.agreement:measure",
    "agents.pack": "potato.training.agents.task:pack_bundle",
    "items.export": "potato.items.tasks:export",
    "items.load": "potato.items.tasks:load",
    "training.build": "potato.training.bundle.task:build",
    "training.compare": "potato.training.results.comparison:compare",
    "training.evaluate": "potato.training.results.task:evaluate",
    "training.publish": "potato.training.publishing.task:publish",
    "training.tidy": "potato.training.results.task:tidy",
}

ALONE = frozenset({"training.publish"})
"""Done by a child process of their own, beside everything else."""


def find(name: str) -> Task:
    """The function of that task, imported. Raises `KeyError` for a name that is not there."""
    module, _, attribute = TASKS[name].partition(":")
    task: Task = getattr(importlib.import_module(module), attribute)
    return task


def warm() -> None:
    """Import every task, so that none waits for it later; but for those that are done by a child of their own."""
    for name in TASKS:
        if name not in ALONE:
            find(name)
