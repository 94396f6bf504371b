"""The look at the labels before a run is queued: quick, and refusing what the bundle would refuse."""

from __future__ import annotations

from collections.abc import Sequence

from potato.project import Project
from potato.schemes import Answer, InvalidAnswer, Scheme
from potato.store import Connection
from potato.store.training import corpus
from potato.training.bundle import judged
from potato.training.bundle.enough import require_enough
from potato.training.bundle.gathering import gather
from potato.training.splits import split_of
from potato.training.trainers.base import TrainerInfo

EXACT = 5000
"""Up to so many answers, they are resolved here as the bundle will; more are counted only until they suffice."""


def preflight(connection: Connection, project: Project, info: TrainerInfo, schemas: Sequence[str]) -> None:
    """Raise `NotEnoughLabels` where there is too little to train on; for a calibration, what `judged.look` does."""
    if info.calibrates_live:
        judged.look(connection, project, info, schemas)
        return
    exact = corpus.count_labels(connection, schemas) <= EXACT
    for name in schemas:
        scheme = project.schemes[name]
        answers = _resolved(connection, project, scheme) if exact else _some(connection, project, info, scheme)
        if exact or len(answers) < EXACT:  # so many of one answer: another may follow, so the bundle decides
            require_enough(info, scheme, answers)


def _resolved(connection: Connection, project: Project, scheme: Scheme) -> list[Answer]:
    targets = gather(connection, project, scheme).targets
    groups = corpus.groups(connection, list(targets))
    return [answer for item, answer in targets.items() if _trains(project, groups[item])]


def _some(connection: Connection, project: Project, info: TrainerInfo, scheme: Scheme) -> list[Answer]:
    """One answer for each of as many training items as suffice."""
    chosen: dict[int, Answer] = {}
    kinds: set[str] = set()
    for row in corpus.labels(connection, scheme.name):
        if row.item in chosen or not _trains(project, corpus.groups(connection, [row.item])[row.item]):
            continue
        try:
            chosen[row.item] = scheme.parse(row.value)
        except InvalidAnswer:
            continue
        kinds.add(repr(chosen[row.item]))
        if (len(chosen) >= info.min_train_items and len(kinds) > 1) or len(chosen) >= EXACT:
            break
    return list(chosen.values())


def _trains(project: Project, group: str) -> bool:
    settings = project.config.model_training
    return split_of(group, settings.split_seed, settings.splits) == "train"
