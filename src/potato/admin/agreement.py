"""How far annotators agree, for the overview: measured in a child process, since a million labels take seconds."""

from __future__ import annotations

from typing import Any

from potato.agreement.krippendorff import Agreement
from potato.agreement.measure import of_labels, of_spans
from potato.project import Project
from potato.schemes import Kind, Scheme
from potato.store import Connection, Database
from potato.store.annotations import labels, labels_with_length


def measure(project: Project, database: Database, _args: dict[str, Any]) -> dict[str, Any]:
    """The task `admin.agreement`: for each scheme, `Agreement.as_json()`."""
    measured = {}
    for scheme in project.schemes.values():
        with database.read() as connection:
            measured[scheme.name] = _of_scheme(connection, scheme).as_json()
    return measured


def _of_scheme(connection: Connection, scheme: Scheme) -> Agreement:
    if scheme.kind is Kind.SPAN:
        return of_spans(labels_with_length(connection, scheme.name))
    answers = labels(connection, [scheme.name])
    return of_labels(scheme.kind, ((item, user, value) for item, user, _, value in answers))
