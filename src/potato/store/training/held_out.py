"""What a score was made of: people's answer and the run's, for each test item. Kept for as long as the run's record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, delete, func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from potato.store.tables import held_out_answers, items

EXCERPT = 240
"""Characters of an item's text that a list shows."""


@dataclass(frozen=True)
class HeldOut:
    """One test item of a scheme. `human` and `model` name the cell of the confusion matrix, for kinds that have one;
    `off` is how far apart the answers are, 0 for the same."""

    item: int
    target: Any
    said: Any
    human: str | None
    model: str | None
    off: float
    confidence: float | None


class Listed(NamedTuple):
    """A test item as a list shows it: place, id and the beginning of its text, with both answers."""

    item: int
    id: str
    text: str
    target: Any
    said: Any
    off: float
    confidence: float | None


class Pair(NamedTuple):
    """What two runs said of an item that was held out from both, as it was stored. `target` is people's answer as the
    first had it."""

    item: int
    target: Any
    one: Any
    other: Any


@dataclass(frozen=True)
class Which:
    """Which test items of a run's scheme: of a cell of the confusion matrix, or those that the run got wrong."""

    run_id: str
    scheme: str
    human: str | None = None
    model: str | None = None
    wrong: bool = False


_a = held_out_answers.c


def put(conn: Connection, run_id: str, scheme: str, rows: Sequence[HeldOut]) -> None:
    """Store these items of a run; those that are there are left as they are."""
    if not rows:
        return
    dialect = sqlite if conn.dialect.name == "sqlite" else postgresql
    values = [{"run_id": run_id, "scheme": scheme, **vars(row)} for row in rows]
    conn.execute(dialect.insert(held_out_answers).on_conflict_do_nothing(), values)


def remove_some(conn: Connection, run_id: str, limit: int) -> int:
    """Delete up to `limit` rows of a run; how many were."""
    keys = select(_a.run_id, _a.scheme, _a.item).where(_a.run_id == run_id).limit(limit)
    return conn.execute(delete(held_out_answers).where(tuple_(_a.run_id, _a.scheme, _a.item).in_(keys))).rowcount


def count(conn: Connection, which: Which) -> int:
    """How many items that is."""
    return int(conn.execute(select(func.count()).select_from(held_out_answers).where(*_where(which))).scalar_one())


def schemes(conn: Connection, run_id: str) -> set[str]:
    """The schemes of which a run's test items are stored."""
    return set(conn.execute(select(_a.scheme).where(_a.run_id == run_id).distinct()).scalars())


def page(conn: Connection, which: Which, limit: int, offset: int = 0, *, by_distance: bool = False) -> list[Listed]:
    """Up to `limit` of these items: the surest first, or with `by_distance` the farthest from people's answer."""
    order: list[ColumnElement[Any]] = [_a.confidence.is_(None), _a.confidence.desc(), _a.item]
    if by_distance:
        order.insert(0, _a.off.desc())
    query = (
        select(_a.item, items.c.id, func.substr(items.c.text, 1, EXCERPT), _a.target, _a.said, _a.off, _a.confidence)
        .join(items, items.c.seq == _a.item)
        .where(*_where(which))
        .order_by(*order)
        .limit(limit)
        .offset(offset)
    )
    return [Listed(*row) for row in conn.execute(query)]


def shared(conn: Connection, one: str, other: str, scheme: str) -> Iterator[Pair]:
    """The test items that two runs share, by place, streamed."""
    for row in conn.execute(_shared(one, other, scheme), execution_options={"yield_per": 2000}):
        yield Pair(*row)


def excerpts(conn: Connection, places: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Place → id and the beginning of the text, of a few items."""
    query = select(items.c.seq, items.c.id, func.substr(items.c.text, 1, EXCERPT)).where(items.c.seq.in_(places))
    return {row[0]: (row[1], row[2]) for row in conn.execute(query)}


def _shared(one: str, other: str, scheme: str) -> Select[Any]:
    second = held_out_answers.alias()
    return (
        select(_a.item, _a.target, _a.said, second.c.said)
        .join(second, (second.c.item == _a.item) & (second.c.scheme == _a.scheme) & (second.c.run_id == other))
        .where(_a.run_id == one, _a.scheme == scheme)
        .order_by(_a.item)
    )


def _where(which: Which) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [_a.run_id == which.run_id, _a.scheme == which.scheme]
    if which.human is not None:
        found.append(_a.human == which.human)
    if which.model is not None:
        found.append(_a.model == which.model)
    if which.wrong:
        found.append(_a.off > 0)
    return found
