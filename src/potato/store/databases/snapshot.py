"""A copy of a store, as a SQLite file, as it is at one instant; and a look at whether such a copy is sound."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

from potato.errors import PotatoError
from potato.store import items
from potato.store.annotations import count_by_scheme
from potato.store.databases.database import Database
from potato.store.databases.postgresql import is_postgresql
from potato.store.training import runs
from potato.store.training.runs import FINISHED


class DamagedStore(PotatoError):
    """The file is no store, or a damaged one."""

    code = "damaged_store"
    status = 422


class NoStore(PotatoError):
    """There is nothing to copy yet."""

    code = "no_store"
    status = 409

    def __init__(self, place: str) -> None:
        super().__init__(f"there is no store in {place} yet", hint="Start the server once; it makes the store.")


@dataclass(frozen=True)
class Contents:
    """What a copy holds."""

    items: int
    annotations: int
    finished_runs: list[str]


def copy(url: str, target: Path) -> Contents:
    """Copy the store at `url` to the SQLite file `target`: one read transaction, in which writers go on.

    Raises `NoStore` where there is none yet.
    """
    if is_postgresql(url):
        from potato.store.databases.transfer import fetch

        fetch(url, target)
    else:
        _copy_file(make_url(url).database or "", target)
    return look(target)


def _copy_file(source: str, target: Path) -> None:
    if not Path(source).is_file():
        raise NoStore(source)
    with (
        contextlib.closing(sqlite3.connect(f"{Path(source).absolute().as_uri()}?mode=rw", uri=True)) as opened,
        contextlib.closing(sqlite3.connect(target)) as made,
    ):
        opened.backup(made)


def look(store: Path) -> Contents:
    """What is in the store file, which is brought to this version's tables.

    Raises `DamagedStore`, or `StoreUnsuitable` for one that a newer version has made.
    """
    _check(store)
    database = Database(f"sqlite:///{store}")
    try:
        database.migrate()
        with database.read() as connection:
            return Contents(
                items.count(connection),
                sum(count_by_scheme(connection).values()),
                [run.run_id for run in runs.in_states(connection, FINISHED)],
            )
    finally:
        database.close()
        for suffix in ("-wal", "-shm"):
            store.with_name(store.name + suffix).unlink(missing_ok=True)


def _check(store: Path) -> None:
    try:
        with contextlib.closing(sqlite3.connect(store)) as opened:
            found = opened.execute("PRAGMA integrity_check").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise DamagedStore(f"{store.name} is no store: {error}") from error
    if found != "ok":
        raise DamagedStore(f"{store.name} is damaged: {found:.300}")
