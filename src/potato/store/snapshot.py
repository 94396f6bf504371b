"""A copy of a SQLite store as it is at one instant, and a look at whether such a copy is sound."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.engine import make_url

from potato.errors import PotatoError
from potato.store import items, runs
from potato.store.annotations import count_by_scheme
from potato.store.database import Database
from potato.store.runs import FINISHED


class DamagedStore(PotatoError):
    """The file is no store, or a damaged one."""

    code = "damaged_store"
    status = 422


@dataclass(frozen=True)
class Contents:
    """What a copy holds."""

    items: int
    annotations: int
    finished_runs: list[str]


def is_file(url: str) -> bool:
    """Whether the store at `url` is a file of this machine's."""
    return make_url(url).get_backend_name() == "sqlite"


def copy(url: str, target: Path) -> Contents:
    """Copy the store at `url` to the file `target`: one read transaction, in which writers go on."""
    source = make_url(url).database or ""
    with (
        contextlib.closing(sqlite3.connect(f"{Path(source).absolute().as_uri()}?mode=rw", uri=True)) as opened,
        contextlib.closing(sqlite3.connect(target)) as made,
    ):
        opened.backup(made)
    return look(target)


def look(store: Path) -> Contents:
    """What is in the store file. Raises `DamagedStore`."""
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
