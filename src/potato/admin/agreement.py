"""How far annotators agree, for the overview: measured in a child process, since a million labels take seconds."""

from __future__ import annotations

from typing import Any

from potato.agreement.measure import of_labels
from potato.project import Project
from potato.store import Database
from potato.store.annotations import labels


def measure(project: Project, database: Database, _args: dict[str, Any]) -> dict[str, Any]:
    """The task `admin.agreement`: for each scheme, `Agreement.as_json()`."""
    measured = {}
    for scheme in project.schemes.values():
        with database.read() as connection:
            answers = labels(connection, [scheme.name])
            agreement = of_labels(scheme.kind, ((item, user, value) for item, user, _, value in answers))
        measured[scheme.name] = agreement.as_json()
    return measured
