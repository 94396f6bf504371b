"""`INSERT … ON CONFLICT`, which SQLAlchemy words for each database apart."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from potato.store.databases.prepared import Prepared


def upsert(conn: Connection, table: Table, keys: Sequence[str], rows: Any, *, add: bool = False) -> None:
    """Insert each of `rows` (a mapping, or a list of them); where `keys` are taken, give that row the new values, or
    `add` these to the old ones."""
    if rows:
        first = rows[0] if isinstance(rows, list) else rows
        _statement(conn.dialect.name, table, tuple(keys), tuple(first), add).run(conn, rows)


@cache
def _statement(dialect: str, table: Table, keys: tuple[str, ...], columns: tuple[str, ...], add: bool) -> Prepared:
    insert = (postgresql if dialect == "postgresql" else sqlite).insert(table).inline()  # nothing is given back
    new = {name: insert.excluded[name] for name in columns if name not in keys}
    changed = {name: table.c[name] + value for name, value in new.items()} if add else new
    if not changed:
        return Prepared(insert.on_conflict_do_nothing(index_elements=list(keys)), columns)
    return Prepared(insert.on_conflict_do_update(index_elements=list(keys), set_=changed), columns)
