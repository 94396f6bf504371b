"""Which items a run's model is least sure of: an order that is worked out once, so that handing out never sorts.

A ranking is written in pieces by the child process, and complete once its fact stands. Items that are held out are in
none: they are handed out at random alone, so that they stay representative of the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select

from potato.store import facts
from potato.store.databases.upsert import upsert
from potato.store.tables import cursors, live_runs, predictions, rankings, wanted

EVERYBODY = 0
"""Whose cursor stands before everything that no annotator can be given any more. No user has this id."""

STEP = 8
"""How many places that cursor moves at most in one request; one is taken up in each."""

_OUT = ("train_split", "held_out")
_r = rankings.c
_NEWEST = select(live_runs.c.run_id).order_by(live_runs.c.since.desc(), live_runs.c.run_id.desc()).limit(1)
_AHEAD = (
    select(_r.place, wanted.c.item)
    .outerjoin(wanted, wanted.c.item == _r.item)
    .where(_r.run_id == bindparam("run"), _r.place > bindparam("after"))
    .order_by(_r.place)
    .limit(STEP)
)
_CURSOR = select(cursors.c.place).where(cursors.c.user == bindparam("who"), cursors.c.list == bindparam("list"))


def newest(conn: Connection) -> str | None:
    """The run whose pre-labels went live last."""
    found: str | None = conn.execute(_NEWEST).scalar()
    return found


def list_name(run_id: str) -> str:
    """The list of a run's ranking, as cursors name it."""
    return f"unsure:{run_id}"


def shared_place(conn: Connection, run_id: str) -> int:
    """The place up to which nothing of the ranking is wanted any more, moved on a little if it can be."""
    name = list_name(run_id)
    place = start = conn.execute(_CURSOR, {"who": EVERYBODY, "list": name}).scalar() or 0
    for row in conn.execute(_AHEAD, {"run": run_id, "after": start}):
        if row.item is not None:
            break
        place = row.place
    if place != start:
        upsert(conn, cursors, ("user", "list"), {"user": EVERYBODY, "list": name, "place": place})
    return place


def last_place(conn: Connection, run_id: str) -> int:
    """The end of a run's ranking, as far as it is written."""
    return conn.execute(select(func.max(_r.place)).where(_r.run_id == run_id)).scalar() or 0


def order(conn: Connection, run_id: str) -> Iterator[int]:
    """The items that a run was asked about, the one that its model is least sure of first, by the scheme that it is
    least sure of; streamed. What it is trained on, what is held out and what has no confidence is left out."""
    p = predictions.c
    query = (
        select(p.item)
        .where(p.run_id == run_id, p.confidence.is_not(None), or_(p.gate.is_(None), p.gate.not_in(_OUT)))
        .group_by(p.item)
        .order_by(func.min(p.confidence), p.item)
    )
    for row in conn.execute(query, execution_options={"yield_per": 2000}):
        yield row.item


def add(conn: Connection, run_id: str, after: int, items: list[int]) -> None:
    """Go on with a ranking past the place `after`."""
    rows = [{"run_id": run_id, "place": after + n, "item": item} for n, item in enumerate(items, 1)]
    if rows:
        conn.execute(insert(rankings), rows)


def complete(conn: Connection, run_id: str) -> None:
    """Note that a run's ranking is whole."""
    facts.put(conn, _fact(run_id), True)


def is_complete(conn: Connection, run_id: str) -> bool:
    """Whether a run's ranking is whole."""
    return bool(facts.get(conn, _fact(run_id)))


def ranked(conn: Connection) -> set[str]:
    """The runs that have a ranking, whole or not."""
    return set(conn.execute(select(_r.run_id).distinct()).scalars())


def remove_some(conn: Connection, run_id: str, limit: int) -> int:
    """Delete up to `limit` places of a run's ranking; how many were. Cursors in it go first."""
    facts.put(conn, _fact(run_id), None)
    conn.execute(delete(cursors).where(cursors.c.list == list_name(run_id)))
    last = select(_r.place).where(_r.run_id == run_id).order_by(_r.place).limit(limit).subquery()
    return conn.execute(delete(rankings).where(_r.run_id == run_id, _r.place.in_(select(last.c.place)))).rowcount


def _fact(run_id: str) -> str:
    return f"ranked:{run_id}"
