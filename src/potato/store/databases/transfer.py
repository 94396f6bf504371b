"""A whole store from PostgreSQL into a SQLite file, and from such a file into PostgreSQL.

Values travel as the databases keep them, not as Python reads them: of JSON its text. Rows stream, so memory stays flat.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Table, Text, cast, column, func, inspect, literal_column, select, table
from sqlalchemy.sql.sqltypes import JSON, LargeBinary, String

from potato.errors import PotatoError
from potato.store.databases import postgresql
from potato.store.databases.database import Database
from potato.store.databases.postgresql import INSTEAD, NUL
from potato.store.databases.snapshot import NoStore
from potato.store.databases.unreachable import StoreUnsuitable
from potato.store.tables import metadata

_PIECE = 2000
_VERSION = "alembic_version"
_FRACTION = re.compile(r"-?\d+(?=[.eE])[\d.eE+-]+")
"""A JSON text that is a number, and not a whole one."""


@dataclass
class Changes:
    """What had to become another: the texts in which NUL characters, which PostgreSQL cannot keep, were replaced."""

    texts: int = 0


class NotTaken(PotatoError):
    """A database refuses what the other one holds. Nothing was written."""

    code = "not_taken"
    status = 422

    def __init__(self, name: str, place: str, reason: str) -> None:
        super().__init__(
            f"{place} does not take a row of the table {name}: {reason}",
            hint="Nothing was written. Mend that row first.",
        )


class StoreFilled(PotatoError):
    """The database that a store should go into has one. Nothing was written."""

    code = "store_filled"
    status = 409

    def __init__(self, place: str, name: str) -> None:
        super().__init__(
            f"the database {place} holds a project already (its table {name} has rows)",
            hint="Name an empty database, or an empty schema of this one, with --database-url.",
        )


def fetch(url: str, target: Path) -> None:
    """Copy the store in the PostgreSQL database at `url` to the SQLite file `target`, as it is at one instant.

    The file gets the tables of the version that the database has. Raises `NoStore`, or `StoreUnsuitable` where that
    version is newer than this program.
    """
    source, made = Database(url), Database(f"sqlite:///{target}")
    try:
        postgresql.check(source.engine)
        with source.read() as reading:
            _make_tables(made, _revision(reading, source.place), source.place)
            with contextlib.closing(sqlite3.connect(target)) as writing:
                writing.execute("PRAGMA synchronous = OFF")  # the archive that it goes into is made durable
                for name in _tables(writing):
                    _fetch_table(reading, writing, name)
                writing.commit()
    finally:
        made.close()
        source.close()


def _make_tables(made: Database, revision: str, place: str) -> None:
    try:
        made.migrate(revision)
    except StoreUnsuitable as unsuitable:  # it names the file, which nobody has heard of
        raise StoreUnsuitable.newer(place) from unsuitable


def _revision(conn: Connection, place: str) -> str:
    if not inspect(conn).has_table(_VERSION):
        raise NoStore(place)
    found = conn.execute(select(literal_column("version_num")).select_from(table(_VERSION))).scalar()
    if found is None:
        raise NoStore(place)
    return str(found)


def _tables(store: sqlite3.Connection) -> list[str]:
    named = (
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name != ? ORDER BY name"
    )
    return [name for (name,) in store.execute(named, (_VERSION,))]


def _fetch_table(reading: Connection, writing: sqlite3.Connection, name: str) -> None:
    columns = inspect(reading).get_columns(name)
    kept = [_as_kept(found["name"], found["type"]) for found in columns]
    places = [place for place, found in enumerate(columns) if isinstance(found["type"], JSON)]
    rows = reading.execute(select(*kept).select_from(table(name)), execution_options={"yield_per": _PIECE})
    names = ", ".join(f'"{found["name"]}"' for found in columns)
    insert = f'INSERT INTO "{name}" ({names}) VALUES ({", ".join("?" * len(columns))})'  # noqa: S608 - our own names
    try:
        for piece in rows.partitions():
            writing.executemany(insert, [_given(row, places) for row in piece])
    except sqlite3.Error as error:
        raise NotTaken(name, "SQLite", str(error)) from error


def _as_kept(name: str, kind: Any) -> Any:
    if isinstance(kind, JSON):
        return cast(column(name), Text)
    return column(name, LargeBinary()) if isinstance(kind, LargeBinary) else column(name)


def _given(row: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """The row as SQLite is given it: JSON, at `places`, that is a number with a fraction as that number, to its last
    digit, which SQLite gets wrong now and then when it makes the number of the text."""
    values = list(row)
    for place in places:
        if values[place] and _FRACTION.fullmatch(values[place]):
            values[place] = float(values[place])
    return values


@contextlib.contextmanager
def loaded(store: Path, url: str) -> Iterator[Changes]:
    """Load the SQLite file `store`, which has this version's tables, into the empty PostgreSQL database at `url`.

    All of it is one transaction, which is committed when the block ends, and undone when it raises. Raises
    `StoreFilled`, `NotTaken`, and the leaves of `store.unreachable`.
    """
    target, changes = Database(url), Changes()
    try:
        target.migrate()
        with target.write() as writing, contextlib.closing(sqlite3.connect(store)) as reading:
            refuse_filled(writing, target.place)
            for each in metadata.sorted_tables:
                _load_table(reading, writing, each, target.place, changes)
                _go_on_counting(writing, each)
            yield changes
        target.gather_statistics()
    finally:
        target.close()


def refuse_filled(conn: Connection, place: str) -> None:
    """Raise `StoreFilled` where any of the store's tables has a row."""
    for each in metadata.sorted_tables:
        if conn.execute(select(literal_column("1")).select_from(each).limit(1)).first() is not None:
            raise StoreFilled(place, each.name)


def _load_table(reading: sqlite3.Connection, writing: Connection, into: Table, place: str, changes: Changes) -> None:
    names = ", ".join(f'"{each.name}"' for each in into.columns)
    rows = reading.execute(f'SELECT {names} FROM "{into.name}"')  # noqa: S608 - our own names
    with _refusals_told(into.name, place):
        postgresql.copy_in(writing, into.name, into.columns.keys(), (_taken(into, row, changes) for row in rows))


@contextlib.contextmanager
def _refusals_told(name: str, place: str) -> Iterator[None]:
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        reason = error.diag.message_primary or str(error)
        where = (error.diag.context or "").partition("\n")[0]
        raise NotTaken(name, f"the database {place}", f"{reason} ({where:.120})" if where else reason) from error


def _taken(into: Table, row: Sequence[Any], changes: Changes) -> list[Any]:
    """The row as PostgreSQL takes it. SQLite keeps JSON that is a number as one."""
    values = []
    for value, each in zip(row, into.columns, strict=True):
        if isinstance(each.type, JSON) and isinstance(value, int | float):
            value = json.dumps(value)
        elif isinstance(each.type, String) and isinstance(value, str) and NUL in value:
            value = value.replace(NUL, INSTEAD)
            changes.texts += 1
        values.append(value)
    return values


def _go_on_counting(writing: Connection, filled: Table) -> None:
    """Let the numbers that the database gives go on after the greatest one."""
    counted = filled.autoincrement_column
    if counted is not None:
        sequence = func.pg_get_serial_sequence(f'"{filled.name}"', counted.name)
        greatest = select(func.setval(sequence, func.max(counted))).select_from(filled)
        writing.execute(greatest.having(func.max(counted).is_not(None)))
