"""Items: reading them. `items_in` writes them.

An item is visible when its `seq` is at most the tally `items_visible`; what lies above belongs to a load that has not
ended, or was broken off. Every query here leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, ScalarSelect, bindparam, select

from potato.errors import PotatoError
from potato.store.databases.prepared import Prepared
from potato.store.facts import tally
from potato.store.tables import items, tallies

VISIBLE = "items_visible"
MEDIA_HOSTS = "media_hosts"
"""The fact that lists the hosts, such as `https://images.example.org`, whose media some item names."""


class UnknownItem(PotatoError):
    """No item has this id."""

    code = "unknown_item"
    status = 404

    def __init__(self, item: str) -> None:
        super().__init__(f"the project has no item {item!r:.120}")


@dataclass(frozen=True)
class ItemRow:
    """An item. `seq` is its place; `group` names the items that have the same text."""

    seq: int
    id: str
    text: str
    image: str | None
    audio: str | None
    fields: dict[str, Any]
    group: str
    source: str
    line: int


def visible() -> ScalarSelect[int]:
    """The highest `seq` that may be seen, as a subquery: `items.c.seq <= visible()`."""
    return select(tallies.c.value).where(tallies.c.name == VISIBLE).scalar_subquery()


_COLUMNS = (
    items.c.seq,
    items.c.id,
    items.c.text,
    items.c.image,
    items.c.audio,
    items.c.fields,
    items.c.grp,
    items.c.source,
    items.c.line,
)
_BY_ID = select(*_COLUMNS).where(items.c.id == bindparam("wanted"), items.c.seq <= visible())
_BY_SEQ = Prepared(select(*_COLUMNS).where(items.c.seq == bindparam("wanted"), items.c.seq <= visible()))
_AFTER = (
    select(*_COLUMNS)
    .where(items.c.seq > bindparam("after"), items.c.seq <= visible())
    .order_by(items.c.seq)
    .limit(bindparam("limit"))
)
_GROUPS = select(items.c.seq, items.c.id, items.c.grp).where(items.c.seq <= visible()).order_by(items.c.seq)
_TEXTS = select(items.c.seq, items.c.text).where(items.c.seq.in_(bindparam("wanted", expanding=True)))
_SEQS = select(items.c.id, items.c.seq).where(items.c.id.in_(bindparam("wanted", expanding=True)))


def by_id(conn: Connection, item_id: str) -> ItemRow | None:
    """The item with the id `item_id`, as the data file writes it."""
    row = conn.execute(_BY_ID, {"wanted": item_id}).first()
    return None if row is None else _item(row)


def by_seq(conn: Connection, seq: int) -> ItemRow | None:
    """The item at the place `seq`."""
    row = _BY_SEQ.first(conn, wanted=seq)
    return None if row is None else _item(row)


def page(conn: Connection, after: int = 0, limit: int = 100) -> list[ItemRow]:
    """Up to `limit` items in order, from the one that follows the place `after`."""
    return [_item(row) for row in conn.execute(_AFTER, {"after": after, "limit": limit})]


def count(conn: Connection) -> int:
    """How many items the project has."""
    return tally(conn, VISIBLE)


def all_groups(conn: Connection) -> Iterator[tuple[int, str, str]]:
    """Place, id and group of every item, in order, streamed."""
    for row in conn.execute(_GROUPS, execution_options={"yield_per": 2000}):
        yield row[0], row[1], row[2]


def seqs(conn: Connection, ids: list[str]) -> dict[str, int]:
    """The places of those of `ids` (a few thousand at most) that are items."""
    last = count(conn)
    return {row[0]: row[1] for row in conn.execute(_SEQS, {"wanted": ids}) if row[1] <= last}


def texts(conn: Connection, wanted: list[int]) -> dict[int, str]:
    """The texts of the items at these places (a few thousand at most)."""
    return {row[0]: row[1] for row in conn.execute(_TEXTS, {"wanted": wanted})}


def _item(row: Any) -> ItemRow:
    return ItemRow(*row)
