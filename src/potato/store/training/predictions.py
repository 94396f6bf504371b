"""Predictions: what models said of items, whose are shown, and what keeps the others back.

Rows are keyed by run and invisible until `live_runs` points at their run; that one pointer is what makes taking in a
file, replacing a model and withdrawing atomic.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, bindparam, delete, exists, func, insert, select, tuple_, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError

from potato.errors import PotatoError
from potato.schemes import Scheme
from potato.store.databases.prepared import Prepared
from potato.store.tables import items, live_runs, predictions, runs, trained_groups, verdicts

Schemes = Mapping[str, Scheme]
"""The project's schemes by name, as they are now."""

HIDDEN = "hidden"
"""The gate of what might be shown, but is kept from annotators to measure how a suggestion sways them."""


class DoublePrediction(PotatoError):
    """A predictions file says something twice of the same item and scheme."""

    code = "predictions_refused"
    status = 400


@dataclass(frozen=True)
class Stored:
    """One prediction as it is stored. `gate` names what keeps it from being shown; None: it may be shown."""

    item: int
    scheme: str
    payload: Any
    confidence: float | None
    probabilities: dict[str, float] | None
    gate: str | None


@dataclass(frozen=True)
class Suggestion:
    """A pre-label of the live model. One that is `hidden` is not shown, but compared with what people say."""

    run_id: str
    model_version: str
    payload: Any
    confidence: float | None
    hidden: bool = False

    def as_json(self) -> dict[str, Any]:
        """The suggestion as answers and exports keep it."""
        return {name: value for name, value in vars(self).items() if name != "hidden" or value}


@dataclass(frozen=True)
class Target:
    """An item that a prediction is about: its `seq`, its group, and whether any run trained on that group."""

    seq: int
    group: str
    trained: bool


_TRAINED = exists().where(trained_groups.c.scheme == predictions.c.scheme, trained_groups.c.grp == items.c.grp)
_LIVE = (
    select(
        predictions.c.item,
        items.c.id,
        items.c.grp,
        predictions.c.scheme,
        predictions.c.run_id,
        runs.c.model_version,
        predictions.c.payload,
        predictions.c.confidence,
        predictions.c.gate,
    )
    .join(live_runs, (live_runs.c.scheme == predictions.c.scheme) & (live_runs.c.run_id == predictions.c.run_id))
    .join(runs, runs.c.run_id == predictions.c.run_id)
    .join(items, items.c.seq == predictions.c.item)
    .where(predictions.c.gate.is_(None) | (predictions.c.gate == HIDDEN), ~_TRAINED)
)
_LIVE_OF_ITEM = Prepared(_LIVE.where(predictions.c.item == bindparam("of_item")))


class Rejected:
    """What reviewers rejected or corrected in a scheme: items, each with the answers that were suggested.

    An answer is what a payload stands for in the scheme as it is now, so that a label that was renamed, or a number
    that is rounded otherwise, is known again.
    """

    def __init__(self, scheme: Scheme | None, pairs: Iterable[tuple[int, Any]]) -> None:
        self._scheme = scheme
        self._keys = {(item, answer_key(scheme, payload)) for item, payload in pairs}
        self.items = sorted({item for item, _ in self._keys})
        self._among = frozenset(self.items)

    def holds(self, item: int, payload: Any) -> bool:
        """Whether that is what was rejected for the item."""
        return item in self._among and (item, answer_key(self._scheme, payload)) in self._keys


def suggestions(connection: Connection, item: int, schemes: Schemes) -> dict[str, Suggestion]:
    """The pre-labels of an item, by scheme: the one supplier for every page. `schemes` are the project's.

    What a run has trained on, or a reviewer has rejected, since the pre-label was made is looked at again here.
    """
    return {
        scheme: _suggestion(*said)
        for _, _, _, scheme, *said in _LIVE_OF_ITEM.all(connection, of_item=item)
        if not rejected(connection, scheme, schemes, [item]).holds(item, said[2])
    }


def all_suggestions(
    connection: Connection, scheme: str, schemes: Schemes
) -> Iterator[tuple[int, str, str, Suggestion]]:
    """Place, id and group of every item that has a pre-label of this scheme, with it; by place, streamed."""
    query = _LIVE.where(predictions.c.scheme == scheme).order_by(predictions.c.item)
    refused = rejected(connection, scheme, schemes)
    for row in connection.execute(query, execution_options={"yield_per": 2000}):
        if not refused.holds(row.item, row.payload):
            yield row.item, row.id, row.grp, _suggestion(*row[4:])


def _suggestion(
    run_id: str, version: str | None, payload: Any, confidence: float | None, gate: str | None
) -> Suggestion:
    return Suggestion(run_id, version or run_id, payload, confidence, hidden=gate == HIDDEN)


def live(connection: Connection) -> dict[str, str]:
    """Scheme → the run whose pre-labels are shown."""
    return {row.scheme: row.run_id for row in connection.execute(select(live_runs.c.scheme, live_runs.c.run_id))}


def set_live(
    connection: Connection,
    run_id: str,
    names: Iterable[str],
    at: str,
    passed: Mapping[str, int] | None = None,
    schemes: Schemes | None = None,
) -> None:
    """Show this run's pre-labels for these schemes, in place of whichever run's were shown. `passed` tells how many
    have passed every gate, where the caller knows; `schemes` are the project's, by which rejected answers are known."""
    for scheme in names:
        count = _passed(connection, run_id, scheme) if passed is None else passed[scheme]
        shown = count - _refused_since(connection, run_id, scheme, schemes or {})
        connection.execute(delete(live_runs).where(live_runs.c.scheme == scheme))
        connection.execute(insert(live_runs).values(scheme=scheme, run_id=run_id, since=at, shown=shown))


def _passed(connection: Connection, run_id: str, scheme: str) -> int:
    p = predictions.c
    query = select(func.count()).where(p.run_id == run_id, p.scheme == scheme, p.gate.is_(None))
    return int(connection.execute(query).scalar_one())


def _refused_since(connection: Connection, run_id: str, scheme: str, schemes: Schemes) -> int:
    """How many of a run's pre-labels say what a reviewer has refused since they were judged."""
    p = predictions.c
    mine = select(p.item, p.payload).where(p.run_id == run_id, p.scheme == scheme, p.gate.is_(None))
    return _count_refused(connection, mine, rejected(connection, scheme, schemes))


def _count_refused(connection: Connection, query: Select[Any], refused: Rejected) -> int:
    found = 0
    for start in range(0, len(refused.items), 500):
        piece = query.where(predictions.c.item.in_(refused.items[start : start + 500]))
        found += sum(refused.holds(row.item, row.payload) for row in connection.execute(piece))
    return found


def shown(connection: Connection) -> dict[str, int]:
    """Scheme → how many pre-labels annotators may be shown at present, as it was counted last."""
    return {row.scheme: row.shown for row in connection.execute(select(live_runs.c.scheme, live_runs.c.shown))}


def recount(connection: Connection, scheme: str, schemes: Schemes) -> int:
    """Count the pre-labels of a scheme that may be shown. Looks at each, so it is not for a request."""
    mine = (predictions.c.scheme == scheme) & predictions.c.gate.is_(None)
    count = int(connection.execute(_LIVE.where(mine).with_only_columns(func.count())).scalar_one())
    return count - _count_refused(connection, _LIVE.where(mine), rejected(connection, scheme, schemes))


def add_to_shown(connection: Connection, scheme: str, run_id: str, more: int) -> None:
    """Correct the count of what is shown, unless another run's pre-labels are by now."""
    mine = (live_runs.c.scheme == scheme) & (live_runs.c.run_id == run_id)
    connection.execute(update(live_runs).where(mine).values(shown=live_runs.c.shown + more))


def keep_live(connection: Connection, schemes: Collection[str]) -> dict[str, str]:
    """Show pre-labels of these schemes only; scheme → run of those that were shown beside them. None come back."""
    others = {scheme: run_id for scheme, run_id in live(connection).items() if scheme not in schemes}
    connection.execute(delete(live_runs).where(live_runs.c.scheme.in_(list(others))))
    return others


def withdraw(connection: Connection, run_id: str) -> int:
    """Show none of this run's pre-labels any more; how many were shown. No earlier run's come back."""
    count = select(func.coalesce(func.sum(live_runs.c.shown), 0)).where(live_runs.c.run_id == run_id)
    shown = connection.execute(count).scalar_one()
    connection.execute(delete(live_runs).where(live_runs.c.run_id == run_id))
    return int(shown)


def add(connection: Connection, run_id: str, rows: Sequence[Stored]) -> None:
    """Store predictions of a run. Raises `DoublePrediction` where one is there already."""
    if not rows:
        return
    values = [{"run_id": run_id, **vars(row)} for row in rows]
    try:
        connection.execute(insert(predictions), values)
    except IntegrityError as error:
        raise DoublePrediction(
            "the predictions file says something twice of the same item and scheme; nothing of it was taken in"
        ) from error


def count(connection: Connection, run_id: str) -> int:
    """How many predictions of a run are stored."""
    query = select(func.count()).select_from(predictions).where(predictions.c.run_id == run_id)
    return int(connection.execute(query).scalar_one())


def has_any(connection: Connection, run_id: str) -> bool:
    """Whether predictions of a run are stored still."""
    return bool(connection.execute(select(exists().where(predictions.c.run_id == run_id))).scalar())


def remove_some(connection: Connection, run_id: str, limit: int) -> int:
    """Delete up to `limit` predictions of a run; how many were."""
    keys = (
        select(predictions.c.run_id, predictions.c.scheme, predictions.c.item)
        .where(predictions.c.run_id == run_id)
        .limit(limit)
    )
    key = tuple_(predictions.c.run_id, predictions.c.scheme, predictions.c.item)
    return connection.execute(delete(predictions).where(key.in_(keys))).rowcount


def said_of(connection: Connection, run_id: str, scheme: str, ids: Sequence[str]) -> dict[str, Stored]:
    """What a run said of these items, as far as it is stored: item id → prediction."""
    query = (
        select(predictions, items.c.id)
        .join(items, items.c.seq == predictions.c.item)
        .where(predictions.c.run_id == run_id, predictions.c.scheme == scheme, items.c.id.in_(ids))
    )
    return {
        row.id: Stored(row.item, row.scheme, row.payload, row.confidence, row.probabilities, row.gate)
        for row in connection.execute(query)
    }


def runs_with_predictions(connection: Connection) -> set[str]:
    """The ids of the runs that have any prediction stored."""
    found: set[str] = set()
    query = select(runs.c.run_id).where(exists().where(predictions.c.run_id == runs.c.run_id))
    found.update(connection.execute(query).scalars())
    return found


def targets(connection: Connection, scheme: str, ids: Sequence[str]) -> dict[str, Target]:
    """The items of these ids that are in the store, for predictions of a scheme."""
    trained = exists().where(trained_groups.c.scheme == scheme, trained_groups.c.grp == items.c.grp)
    query = select(items.c.id, items.c.seq, items.c.grp, trained.label("trained")).where(items.c.id.in_(ids))
    return {row.id: Target(row.seq, row.grp, bool(row.trained)) for row in connection.execute(query)}


def rejected(connection: Connection, scheme: str, schemes: Schemes, numbers: Sequence[int] | None = None) -> Rejected:
    """What reviewers rejected or corrected for these items, all by default."""
    against = verdicts.c.verdict.in_(["reject", "correct"]) & verdicts.c.superseded.is_(False)
    query = select(verdicts.c.item, verdicts.c.payload).where(verdicts.c.scheme == scheme, against)
    if numbers is not None:
        query = query.where(verdicts.c.item.in_(numbers))
    return Rejected(schemes.get(scheme), ((row.item, row.payload) for row in connection.execute(query)))


def answer_key(scheme: Scheme | None, payload: Any) -> str:
    """A payload as text, equal for payloads that stand for one answer in the scheme as it is now. One that stands for
    none any more, or is of a scheme that the project has no more, is equal to itself alone."""
    answer = scheme.suggested(payload) if scheme is not None else None
    return json.dumps(payload if answer is None else answer, ensure_ascii=True, sort_keys=True)


def record_trained(connection: Connection, run_id: str, scheme: str, groups: Sequence[str]) -> None:
    """Note that a run trains on these groups. A group that any run has trained on stays noted."""
    if not groups:
        return
    values = [{"scheme": scheme, "grp": group, "run_id": run_id} for group in groups]
    dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
    connection.execute(dialect.insert(trained_groups).on_conflict_do_nothing(), values)
