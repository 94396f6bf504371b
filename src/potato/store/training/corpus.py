"""What a bundle is made of: labels, skips and items, read in one transaction, so that they belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, exists, func, select

from potato.store import tables
from potato.store.items import visible
from potato.store.tables import assignments, items

_PIECE = 2000
_SKIPPED = exists().where(
    assignments.c.item == tables.annotations.c.item,
    assignments.c.user == tables.annotations.c.user,
    assignments.c.state == "skipped",
)
"""Whether the annotator has skipped the item after the answer."""


class LabelRow(NamedTuple):
    """One annotator's answer as it is stored; `user` is a number, never a name."""

    item: int
    user: int
    scheme: str
    value: Any


class CorpusItem(NamedTuple):
    """An item as a bundle needs it."""

    seq: int
    id: str
    text: str
    fields: dict[str, Any]
    group: str
    image: str | None = None


def newest_change(connection: Connection) -> int:
    """The last line of the answers' history: whatever is read in this transaction reflects it, and nothing later."""
    return connection.execute(select(func.max(tables.annotation_history.c.seq))).scalar() or 0


def count_labels(connection: Connection, schemes: Sequence[str]) -> int:
    """How many answers there are to these schemes."""
    query = select(func.count()).select_from(tables.annotations).where(tables.annotations.c.scheme.in_(schemes))
    return int(connection.execute(query).scalar_one())


def labels(connection: Connection, scheme: str) -> Iterator[LabelRow]:
    """The answers to a scheme by item; those of an annotator who skipped the item afterwards are left out."""
    query = (
        select(
            tables.annotations.c.item,
            tables.annotations.c.user,
            tables.annotations.c.scheme,
            tables.annotations.c.value,
        )
        .where(tables.annotations.c.scheme == scheme, ~_SKIPPED)
        .order_by(tables.annotations.c.item, tables.annotations.c.user)
    )
    for row in connection.execute(query.execution_options(yield_per=_PIECE)):
        yield LabelRow(row.item, row.user, row.scheme, row.value)


def anchored_items(connection: Connection, scheme: str) -> set[int]:
    """The items where an annotator's answer to a scheme is a model's suggestion, taken as it stood; the answers that
    `labels` leaves out do not count."""
    given = tables.annotations.c
    query = select(given.item).where(given.scheme == scheme, given.origin == "accepted", ~_SKIPPED).distinct()
    return set(connection.execute(query).scalars())


def skipped_items(connection: Connection) -> set[int]:
    """The items that any annotator has skipped."""
    query = select(assignments.c.item).where(assignments.c.state == "skipped").distinct()
    return set(connection.execute(query).scalars())


def groups(connection: Connection, numbers: Sequence[int]) -> dict[int, str]:
    """Item → its group, for those items."""
    found: dict[int, str] = {}
    for start in range(0, len(numbers), _PIECE):
        query = select(items.c.seq, items.c.grp).where(items.c.seq.in_(numbers[start : start + _PIECE]))
        found.update((row.seq, row.grp) for row in connection.execute(query))
    return found


def all_items(connection: Connection) -> Iterator[CorpusItem]:
    """Every item, in the order of the data files, streamed; what an unfinished load has added is left out."""
    columns = (items.c.seq, items.c.id, items.c.text, items.c.fields, items.c.grp, items.c.image)
    query = select(*columns).where(items.c.seq <= visible()).order_by(items.c.seq)
    for row in connection.execute(query.execution_options(yield_per=_PIECE)):
        yield CorpusItem(row.seq, row.id, row.text, row.fields, row.grp, row.image)
