"""Two runs compared on the items that were held out from both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from potato.errors import PotatoError
from potato.project import Project
from potato.schemes import Answer, Scheme
from potato.store import Connection, Database
from potato.store.training import held_out
from potato.store.training import runs as rows
from potato.store.training.runs import Run
from potato.training.results.answers import distance
from potato.training.results.paired import Paired, paired

DIFFERING_SHOWN = 50
"""Items of unlike answers that a comparison lists."""


class _Row(NamedTuple):
    """People's answer of an item and what two runs said, each with how far it is off that answer."""

    item: int
    target: Answer
    one: Answer
    other: Answer
    one_off: float
    other_off: float


class NotComparable(PotatoError):
    """Two runs that have nothing in common to compare."""

    code = "not_comparable"
    status = 409


def compare(project: Project, database: Database, args: dict[str, Any]) -> dict[str, Any]:
    """The task `training.compare`: args `one` and `other`, two runs. Answers, by scheme, `Paired.as_json()` with
    `differ`: the items of unlike answers, those first where only one of the two is right. Raises `NotComparable`."""
    with database.read() as connection:
        one, other = (rows.get_or_raise(connection, args[name]) for name in ("one", "other"))
        found = {name: _scheme(connection, project, name, one, other) for name in _common(project, one, other)}
    if not found:
        raise NotComparable(
            f"Runs {one.run_id} and {other.run_id} share no scheme, so there is nothing to compare",
            hint="choose a run of the same scheme",
        )
    return found


def compare_scheme(connection: Connection, project: Project, scheme: str, one: str, other: str) -> Paired:
    """Both runs' first figure of a scheme on the items they share."""
    return _paired(project, scheme, list(_rows(connection, project.schemes[scheme], one, other)))


def _paired(project: Project, scheme: str, pairs: Sequence[_Row]) -> Paired:
    return paired(
        project.schemes[scheme].kind,
        [pair.target for pair in pairs],
        [pair.one for pair in pairs],
        [pair.other for pair in pairs],
        project.config.model_training.split_seed,
        project.config.model_training.metrics.get(scheme),
    )


def _common(project: Project, one: Run, other: Run) -> list[str]:
    return [name for name in one.schemas if name in other.schemas and name in project.schemes]


def _scheme(connection: Connection, project: Project, scheme: str, one: Run, other: Run) -> dict[str, Any]:
    newer, older = sorted((one, other), key=lambda run: run.created_at, reverse=True)
    # people's answers as of the newer
    pairs = list(_rows(connection, project.schemes[scheme], newer.run_id, older.run_id))
    if newer is not one:
        pairs = [_turned(pair) for pair in pairs]
    differing = sorted((pair for pair in pairs if pair.one != pair.other), key=_most_telling)[:DIFFERING_SHOWN]
    texts = held_out.excerpts(connection, [pair.item for pair in differing])
    listed = [{**pair._asdict(), "id": texts[pair.item][0], "text": texts[pair.item][1]} for pair in differing]
    return {**_paired(project, scheme, pairs).as_json(), "differ": listed}


def _rows(connection: Connection, scheme: Scheme, one: str, other: str) -> Iterator[_Row]:
    """The shared items in the scheme as it is now; those with an answer that it does not take any more are left out."""
    for pair in held_out.shared(connection, one, other, scheme.name):
        target, first, second = (scheme.as_now(said) for said in (pair.target, pair.one, pair.other))
        if target is not None and first is not None and second is not None:
            off = (distance(scheme.kind, target, said) for said in (first, second))
            yield _Row(pair.item, target, first, second, *off)


def _turned(pair: _Row) -> _Row:
    return pair._replace(one=pair.other, other=pair.one, one_off=pair.other_off, other_off=pair.one_off)


def _most_telling(pair: _Row) -> tuple[float, int]:
    return -abs(pair.one_off - pair.other_off), pair.item
