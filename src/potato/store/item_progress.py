"""How far items are: who has answered, holds, skipped or flagged each."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection, bindparam, select

from potato.store.items import visible
from potato.store.settling import State
from potato.store.tables import assignments, items, users


@dataclass
class ItemProgress:
    """One item with the annotators who met it, by how they stand to it. `flags` are annotator and reason."""

    seq: int
    id: str
    text: str
    by_state: dict[State, list[str]] = field(default_factory=lambda: {state: [] for state in State})
    reasons: list[tuple[str, str]] = field(default_factory=list)
    flags: list[tuple[str, str]] = field(default_factory=list)


_SHOWN = (items.c.seq, items.c.id, items.c.text)
_ALL = (
    select(*_SHOWN)
    .where(items.c.seq > bindparam("after"), items.c.seq <= visible())
    .order_by(items.c.seq)
    .limit(bindparam("limit"))
)
_FLAGGED = select(assignments.c.item).where(assignments.c.flag.is_not(None))
_SKIPPED = select(assignments.c.item).where(assignments.c.state == State.SKIPPED.value)
_LISTS = {
    "all": _ALL,
    "flagged": _ALL.where(items.c.seq.in_(_FLAGGED)),
    "skipped": _ALL.where(items.c.seq.in_(_SKIPPED)),
}
_MET = (
    select(assignments.c.item, users.c.name, assignments.c.state, assignments.c.reason, assignments.c.flag)
    .join(users, users.c.id == assignments.c.user)
    .where(assignments.c.item.in_(bindparam("items", expanding=True)))
    .order_by(assignments.c.item, users.c.name)
)


def page(conn: Connection, which: str, after: int, limit: int) -> list[ItemProgress]:
    """Up to `limit` items behind the place `after`: `all`, `flagged`, or `skipped` ones."""
    rows = conn.execute(_LISTS[which], {"after": after, "limit": limit})
    found = {row.seq: ItemProgress(row.seq, row.id, row.text) for row in rows}
    for row in conn.execute(_MET, {"items": list(found)}):
        item = found[row.item]
        item.by_state[State(row.state)].append(row.name)
        if row.state == State.SKIPPED.value and row.reason:
            item.reasons.append((row.name, row.reason))
        if row.flag is not None:
            item.flags.append((row.name, row.flag))
    return list(found.values())
