"""Many rows at once, past SQLAlchemy's work on each parameter: Core writes the statement, the driver gets the rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_rows(conn: Connection, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> int:
    """Insert `rows`, tuples in the order of `columns`, values as the driver takes them (JSON as text).

    A row whose unique key is taken is left out; returns how many were inserted.
    """
    if not rows:
        return 0
    statement, positional = _statement(conn.dialect.name, table, columns)
    values: Any = rows if positional else [dict(zip(columns, row, strict=True)) for row in rows]
    return conn.exec_driver_sql(statement, values).rowcount


@cache
def _statement(dialect: str, table: Table, columns: tuple[str, ...]) -> tuple[str, bool]:
    kind = postgresql if dialect == "postgresql" else sqlite
    insert = kind.insert(table).on_conflict_do_nothing()
    compiled = insert.compile(dialect=_dialect(dialect), column_keys=list(columns))
    order = compiled.positiontup
    if order is not None and list(order) != list(columns):
        raise AssertionError(f"{table.name}: the statement takes {order}, not {columns}")
    return str(compiled), order is not None


def _dialect(name: str) -> Any:
    kind: Any = postgresql.psycopg if name == "postgresql" else sqlite
    return kind.dialect(paramstyle="pyformat" if name == "postgresql" else "qmark")
