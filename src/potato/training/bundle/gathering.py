"""From annotators' answers to one target an item."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from potato.agreement.resolution import resolve
from potato.project import Project
from potato.schemes import Answer, InvalidAnswer, Kind, Scheme
from potato.store import Connection, adjudications
from potato.store.training import corpus
from potato.store.training.corpus import LabelRow


@dataclass(frozen=True)
class Gathered:
    """The labels of one scheme.

    `targets` maps an item's `seq` to its one answer, `votes` to `[answer, count]` pairs, most frequent first.
    `ties` items had annotators exactly divided; `orphans` answers were of labels that the project no longer has;
    `adjudicated` targets were decided by an adjudicator, and stand in place of what annotators come to. `anchored` are
    items whose target rests on a model's suggestion that was taken as it stood: no model is measured by them.
    """

    scheme: Scheme
    targets: dict[int, Answer]
    votes: dict[int, list[list[Any]]]
    ties: int
    orphans: int
    adjudicated: int = 0
    anchored: frozenset[int] = frozenset()

    def classes(self, answers: Iterable[Answer]) -> list[str]:
        """The labels that these answers use, in the project's order."""
        used = {name for answer in answers for name in self.scheme.names(answer)}
        return [name for name in self.scheme.label_names() if name in used]


def gather(connection: Connection, project: Project, scheme: Scheme) -> Gathered:
    """The labels of a scheme as they are now."""
    given, orphans = _parsed(scheme, corpus.labels(connection, scheme.name))
    resolved = resolve(scheme.kind, given, project.config.model_training.aggregation)
    targets = {int(str(item)): _ordered(scheme, answer) for item, answer in resolved.answers.items()}
    divided = {item for item, _, _ in given}.difference(targets)
    decided, gone = _decided(scheme, adjudications.of_scheme(connection, scheme.name))
    ties = resolved.ties - len(divided.intersection(decided))
    anchored = frozenset(corpus.anchored_items(connection, scheme.name) - decided.keys())
    return Gathered(scheme, targets | decided, _votes(given), ties, orphans + gone, len(decided), anchored)


def _decided(scheme: Scheme, made: dict[int, Answer]) -> tuple[dict[int, Answer], int]:
    """The decisions that the project's labels take, and how many they do not."""
    taken: dict[int, Answer] = {}
    for item, value in made.items():
        try:
            taken[item] = scheme.parse(value)
        except InvalidAnswer:
            continue
    return taken, len(made) - len(taken)


def _parsed(scheme: Scheme, rows: Iterable[LabelRow]) -> tuple[list[tuple[int, int, Answer]], int]:
    given: list[tuple[int, int, Answer]] = []
    orphans = 0
    for row in rows:
        try:
            given.append((row.item, row.user, scheme.parse(row.value)))
        except InvalidAnswer:
            orphans += 1
    return given, orphans


def _ordered(scheme: Scheme, answer: Answer) -> Answer:
    """A multilabel answer in the project's order of labels; others are as they are."""
    return scheme.parse(answer) if scheme.kind is Kind.MULTILABEL else answer


def _votes(given: Sequence[tuple[int, int, Answer]]) -> dict[int, list[list[Any]]]:
    counts: dict[int, dict[str, list[Any]]] = {}
    for item, _, answer in given:
        counts.setdefault(item, {}).setdefault(json.dumps(answer, sort_keys=True), [answer, 0])[1] += 1
    return {item: sorted(pairs.values(), key=lambda pair: (-pair[1], str(pair[0]))) for item, pairs in counts.items()}
