"""How far annotators agree, for the overview: measured in a child process, since a million labels take seconds."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from potato.agreement.krippendorff import Agreement
from potato.agreement.measure import of_labels, of_spans
from potato.project import Project
from potato.schemes import Answer, InvalidAnswer, Kind, Scheme
from potato.store import Connection, Database
from potato.store.annotations import labels, labels_with_length

_REMEMBERED = 50_000


def measure(project: Project, database: Database, _args: dict[str, Any]) -> dict[str, Any]:
    """The task `admin.agreement`: for each scheme `Agreement.as_json()`, and `gone`: answer → how often it was given,
    of those that the project no longer takes."""
    measured = {}
    for scheme in project.schemes.values():
        with database.read() as connection:
            gone: Counter[str] = Counter()
            measured[scheme.name] = {**_of_scheme(connection, scheme, gone).as_json(), "gone": dict(gone)}
    return measured


def _of_scheme(connection: Connection, scheme: Scheme, gone: Counter[str]) -> Agreement:
    looked = _Looked(scheme, gone)
    if scheme.kind is Kind.SPAN:
        rows = labels_with_length(connection, scheme.name)
        return of_spans((item, user, looked(value), length) for item, user, value, length in rows)
    answers = labels(connection, [scheme.name])
    return of_labels(scheme.kind, ((item, user, looked(value)) for item, user, _, value in answers))


class _Looked:
    """Passes answers on, and counts in `gone` the labels of those that the project no longer takes."""

    def __init__(self, scheme: Scheme, gone: Counter[str]) -> None:
        self._scheme = scheme
        self._gone = gone
        self._known: dict[Any, list[str]] = {}

    def __call__(self, answer: Answer) -> Answer:
        key = answer if isinstance(answer, (str, int, float)) else json.dumps(answer)
        if key not in self._known:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = self._missing(answer)
        self._gone.update(self._known[key])
        return answer

    def _missing(self, answer: Answer) -> list[str]:
        try:
            self._scheme.parse(answer)
        except InvalidAnswer:
            known = {*self._scheme.label_names(), *self._scheme.label_renames}
            names = [str(part) for part in (answer if isinstance(answer, list) else [answer])]
            if self._scheme.kind is Kind.SPAN and isinstance(answer, list):
                names = [str(part.get("label")) if isinstance(part, dict) else str(part) for part in answer]
            return [name for name in names if name not in known] or [json.dumps(answer, ensure_ascii=False)[:80]]
        return []
