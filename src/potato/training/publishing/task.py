"""The task `training.publish`: it speaks to the Hub for minutes, so it runs in a child process of its own."""

from __future__ import annotations

from typing import Any

from potato.project import Project
from potato.store import Database
from potato.training.publishing.push import load_run, plan, push


def publish(project: Project, database: Database, args: dict[str, Any]) -> dict[str, Any]:
    """Args: `number` (of the publication), `run_id`, `scheme`, `repo`, `public`. Answers the publication."""
    run = load_run(database, args["run_id"])
    planned = plan(project, run, args["repo"], args["public"], args["scheme"])
    return push(project, database, args["number"], planned, lambda text: None).as_json()
