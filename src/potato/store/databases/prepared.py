"""Statements that every answer runs: they cost SQLAlchemy more than SQLite, so they are worded once.

Core writes the statement for SQLite the first time; from then on the driver gets it with its values. What goes in and
what comes out is as with `Connection.execute`, but for rows being plain tuples. PostgreSQL, where a statement is a
message to another process anyway, is asked by way of Core, which knows what its errors mean.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError

from potato.store.databases.json_text import for_sqlite

_DIALECT = sqlite.dialect(paramstyle="qmark", json_serializer=for_sqlite)

Row = tuple[Any, ...]


class Prepared:
    """One statement. `columns` are those that an insert is given, in any order."""

    def __init__(self, statement: Any, columns: Sequence[str] | None = None) -> None:
        self._statement = statement
        self._columns = columns

    def all(self, conn: Connection, **values: Any) -> list[Row]:
        """Every row."""
        if conn.dialect.name != "sqlite":
            return [tuple(row) for row in conn.execute(self._statement, values)]
        return self._worded.rows(conn, values)

    def first(self, conn: Connection, **values: Any) -> Row | None:
        """The first row; None where there is none."""
        rows = self.all(conn, **values)
        return rows[0] if rows else None

    def scalar(self, conn: Connection, **values: Any) -> Any:
        """The first row's only value; None where there is no row."""
        row = self.first(conn, **values)
        return None if row is None else row[0]

    def run(self, conn: Connection, rows: Any) -> None:
        """Execute it with each of `rows`: a mapping, or a list of them."""
        if conn.dialect.name == "sqlite":
            self._worded.run(conn, rows if isinstance(rows, list) else [rows])
        else:
            conn.execute(self._statement, rows)

    @cached_property
    def _worded(self) -> _Worded:
        return _Worded(self._statement, self._columns)


class _Worded:
    """A statement as SQLite's driver takes it: the text, and how its values are made and read."""

    def __init__(self, statement: Any, columns: Sequence[str] | None) -> None:
        made = statement.compile(
            dialect=_DIALECT,
            column_keys=None if columns is None else list(columns),
        )
        self._text = str(made)
        self._values = [_value(name, made) for name in made.positiontup]
        selected = getattr(statement, "selected_columns", ())
        self._read = [column.type.dialect_impl(_DIALECT).result_processor(_DIALECT, None) for column in selected]
        self._reads = any(self._read)

    def rows(self, conn: Connection, values: Mapping[str, Any]) -> list[Row]:
        given = self._given(values)
        rows: list[Row] = self._told(conn, lambda driver: driver.execute(self._text, given).fetchall())
        if not self._reads:
            return rows
        return [
            tuple(value if read is None else read(value) for read, value in zip(self._read, row, strict=True))
            for row in rows
        ]

    def run(self, conn: Connection, rows: list[Mapping[str, Any]]) -> None:
        given = [self._given(row) for row in rows]
        self._told(conn, lambda driver: driver.executemany(self._text, given))

    def _given(self, values: Mapping[str, Any]) -> list[Any]:
        return [
            values.get(name, default) if made is None else made(values.get(name, default))
            for name, default, made in self._values
        ]

    def _told(self, conn: Connection, act: Callable[[sqlite3.Connection], Any]) -> Any:
        driver: Any = conn.connection.dbapi_connection
        try:
            return act(driver)
        except sqlite3.Error as error:
            raise DBAPIError.instance(self._text, None, error, sqlite3.Error) from error


def _value(name: str, made: Any) -> tuple[str, Any, Callable[[Any], Any] | None]:
    """A parameter's name, what it is where none is given, and how the driver's value is made of one."""
    bound = made.binds.get(name)
    maker = None if bound is None else bound.type.dialect_impl(_DIALECT).bind_processor(_DIALECT)
    return name, made.params.get(name), maker
