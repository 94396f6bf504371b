"""Single values that outlive the server, and whole numbers that are counted up."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update

from potato.store.databases.prepared import Prepared
from potato.store.databases.upsert import upsert
from potato.store.tables import facts, tallies

_GET = Prepared(select(facts.c.value).where(facts.c.name == bindparam("wanted")))
_UPDATE = update(facts).where(facts.c.name == bindparam("wanted"))
_DELETE = delete(facts).where(facts.c.name == bindparam("wanted"))

_TALLY = Prepared(select(tallies.c.value).where(tallies.c.name == bindparam("wanted")))
_SET = update(tallies).where(tallies.c.name == bindparam("wanted"))


def get(conn: Connection, name: str) -> Any:
    """The value stored under `name`; None where there is none."""
    return _GET.scalar(conn, wanted=name)


def get_list(conn: Connection, name: str) -> list[str]:
    """The texts stored under `name`; none where nothing is."""
    return get(conn, name) or []


def put(conn: Connection, name: str, value: Any) -> None:
    """Store `value`, anything that JSON holds, under `name`; None forgets it."""
    if value is None:
        conn.execute(_DELETE, {"wanted": name})
    elif not conn.execute(_UPDATE, {"wanted": name, "value": value}).rowcount:
        conn.execute(insert(facts), {"name": name, "value": value})


def tally(conn: Connection, name: str) -> int:
    """A counted number; 0 where nothing was counted yet."""
    return _TALLY.scalar(conn, wanted=name) or 0


def counted(name: str) -> ColumnElement[int]:
    """A counted number within a query; 0 where nothing was counted yet."""
    value = select(tallies.c.value).where(tallies.c.name == name).scalar_subquery()
    return func.coalesce(value, 0)


def count(conn: Connection, name: str, more: int) -> None:
    """Add `more`, which may be negative, to a counted number."""
    if more:
        upsert(conn, tallies, ("name",), {"name": name, "value": more}, add=True)


def set_tally(conn: Connection, name: str, value: int) -> None:
    """Give a counted number the value that it has been found to have."""
    if not conn.execute(_SET, {"wanted": name, "value": value}).rowcount:
        conn.execute(insert(tallies), {"name": name, "value": value})
