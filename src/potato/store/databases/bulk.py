"""Many rows at once, past SQLAlchemy's work on each value: the driver gets the rows as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.exc import IntegrityError

from potato.store.databases import postgresql


def insert_all(conn: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> bool:
    """Insert `rows`, tuples in the order of `columns`, values as the driver takes them (JSON as text).

    Where a key is taken, none of them is inserted. Returns whether they were.
    """
    if not rows:
        return True
    attempt = conn.begin_nested()
    inserted = (
        _sqlite(conn, table, columns, rows) if conn.dialect.name == "sqlite" else _copied(conn, table, columns, rows)
    )
    if inserted:
        attempt.commit()
    else:
        attempt.rollback()
    return inserted


def _sqlite(conn: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> bool:
    names, values = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
    try:
        conn.exec_driver_sql(f'INSERT INTO "{table.name}" ({names}) VALUES ({values})', list(rows))  # noqa: S608
    except IntegrityError:
        return False
    return True


def _copied(conn: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> bool:
    from psycopg.errors import UniqueViolation

    try:
        postgresql.copy_in(conn, table.name, columns, rows)
    except UniqueViolation:
        return False
    return True
