"""What was decided of items about which annotators disagreed. It is nobody's annotation: a record of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Connection, Text, bindparam, cast, delete, exists, func, select, update

from potato.schemes import Answer, Scheme
from potato.store.clock import to_text
from potato.store.databases.upsert import upsert
from potato.store.items import visible
from potato.store.settling import State
from potato.store.tables import adjudications, assignments, items, users
from potato.store.tables import annotations as answers_

STREAMED = {"yield_per": 2_000}


class Adjudicated(NamedTuple):
    """One decision."""

    item: int
    scheme: str
    value: Answer
    adjudicator: str
    at: str


@dataclass(frozen=True)
class Answered:
    """An item with what each annotator says to one question, and what was decided."""

    seq: int
    id: str
    text: str
    answers: list[tuple[str, Answer]]
    decided: Adjudicated | None


_COLUMNS = (
    adjudications.c.item,
    adjudications.c.scheme,
    adjudications.c.value,
    adjudications.c.adjudicator,
    adjudications.c.at,
)
_OF_SCHEME = select(adjudications.c.item, adjudications.c.value).where(adjudications.c.scheme == bindparam("of_scheme"))
_OF_ITEMS = select(*_COLUMNS).where(adjudications.c.item.in_(bindparam("items", expanding=True)))
_ALL = select(*_COLUMNS).order_by(adjudications.c.item, adjudications.c.adjudicator, adjudications.c.scheme)
_COUNTS = select(adjudications.c.scheme, func.count()).group_by(adjudications.c.scheme)
_NOT_SKIPPED = ~exists().where(
    assignments.c.item == answers_.c.item,
    assignments.c.user == answers_.c.user,
    assignments.c.state == State.SKIPPED.value,
)
_SAID = cast(answers_.c.value, Text)
_SHARED = (
    select(answers_.c.item)
    .where(
        answers_.c.scheme == bindparam("of_scheme"),
        answers_.c.item > bindparam("after"),
        answers_.c.item <= visible(),
        _NOT_SKIPPED,
    )
    .group_by(answers_.c.item)
    .order_by(answers_.c.item)
    .limit(bindparam("limit"))
)
_DISAGREED = _SHARED.having(func.min(_SAID) != func.max(_SAID))
_UNDECIDED = _DISAGREED.where(
    ~exists().where(adjudications.c.item == answers_.c.item, adjudications.c.scheme == answers_.c.scheme)
)
_DECIDED = (
    select(adjudications.c.item)
    .where(adjudications.c.scheme == bindparam("of_scheme"), adjudications.c.item > bindparam("after"))
    .order_by(adjudications.c.item)
    .limit(bindparam("limit"))
)
_LISTS = {"open": _UNDECIDED, "decided": _DECIDED, "all": _SHARED.having(func.count() > 1)}
_ANSWERS = (
    select(answers_.c.item, users.c.name, answers_.c.value)
    .join(users, users.c.id == answers_.c.user)
    .where(
        answers_.c.scheme == bindparam("of_scheme"),
        answers_.c.item.in_(bindparam("items", expanding=True)),
        _NOT_SKIPPED,
    )
    .order_by(answers_.c.item, users.c.name)
)
_ITEMS = select(items.c.seq, items.c.id, items.c.text).where(items.c.seq.in_(bindparam("items", expanding=True)))


def decide(conn: Connection, made: Sequence[Adjudicated], source: str = "page") -> None:
    """Record decisions; one of the same item and question takes the place of the earlier."""
    rows = [{**each._asdict(), "source": source} for each in made]
    upsert(conn, adjudications, ("item", "scheme"), rows)


def decided_at(item: int, scheme: str, value: Answer, adjudicator: str, at: datetime) -> Adjudicated:
    """A decision made at `at`."""
    return Adjudicated(item, scheme, value, adjudicator, to_text(at))


def rename(conn: Connection, scheme: Scheme) -> None:
    """Carry decisions over to the labels' new names, as the scheme's `label_renames` says."""
    stored = conn.execute(_OF_SCHEME, {"of_scheme": scheme.name}).all()
    changed = [{"of_item": item, "new": new} for item, value in stored if (new := scheme.renamed(value)) != value]
    if changed:
        of_scheme = update(adjudications).where(adjudications.c.scheme == scheme.name)
        conn.execute(
            of_scheme.where(adjudications.c.item == bindparam("of_item")).values(value=bindparam("new")), changed
        )


def take_back(conn: Connection, item: int, scheme: str) -> None:
    """Forget a decision: what annotators said counts again."""
    conn.execute(delete(adjudications).where(adjudications.c.item == item, adjudications.c.scheme == scheme))


def of_scheme(conn: Connection, scheme: str) -> dict[int, Answer]:
    """Item → what was decided."""
    return {row[0]: row[1] for row in conn.execute(_OF_SCHEME, {"of_scheme": scheme})}


def of_items(conn: Connection, wanted: Sequence[int]) -> dict[tuple[int, str], Adjudicated]:
    """What was decided of these items (a few thousand at most), by item and question."""
    found = (Adjudicated(*row) for row in conn.execute(_OF_ITEMS, {"items": list(wanted)}))
    return {(each.item, each.scheme): each for each in found}


def everything(conn: Connection) -> Iterator[Adjudicated]:
    """Every decision, by item, then who made it, then question; streamed."""
    for row in conn.execute(_ALL, execution_options=STREAMED):
        yield Adjudicated(*row)


def count_by_scheme(conn: Connection) -> dict[str, int]:
    """How many decisions there are of each question."""
    return {row[0]: row[1] for row in conn.execute(_COUNTS)}


def page(conn: Connection, scheme: str, which: str, after: int, limit: int) -> list[Answered]:
    """Up to `limit` items behind the place `after` with their answers to `scheme`.

    `which`: `open`, about which annotators disagree and nobody has decided; `decided`; or `all` with two answers.
    """
    seqs = list(conn.execute(_LISTS[which], {"of_scheme": scheme, "after": after, "limit": limit}).scalars())
    return _answered(conn, scheme, seqs)


def one(conn: Connection, scheme: str, seq: int) -> Answered:
    """The item at the place `seq`, which is there, with its answers to `scheme`."""
    return _answered(conn, scheme, [seq])[0]


def _answered(conn: Connection, scheme: str, seqs: Sequence[int]) -> list[Answered]:
    answers: dict[int, list[tuple[str, Answer]]] = {seq: [] for seq in seqs}
    for row in conn.execute(_ANSWERS, {"of_scheme": scheme, "items": seqs}):
        answers[row.item].append((row.name, row.value))
    decided = of_items(conn, seqs)
    about: dict[int, Any] = {row.seq: row for row in conn.execute(_ITEMS, {"items": seqs})}
    return [Answered(seq, about[seq].id, about[seq].text, answers[seq], decided.get((seq, scheme))) for seq in seqs]
