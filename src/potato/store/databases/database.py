"""Opening the store: engines, migrations, and the lock that keeps a second server out."""

from __future__ import annotations

import contextlib
import sqlite3
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url

from potato.store.databases import lock, postgresql
from potato.store.databases.json_text import for_sqlite
from potato.store.databases.refused import refusals_told
from potato.store.databases.unreachable import WAIT_S, StoreUnsuitable


class Database:
    """The store of one project.

    `read` gives short read-only transactions that see one snapshot and never wait for a writer. `write` is one
    transaction, begun immediately; it serves child processes and the command line. In the server every interactive
    write goes through `store.writer.Writer` instead, which alone calls `write` there. `guard` may raise at the
    beginning of a write, which then does not take place.
    """

    def __init__(self, url: str, guard: Callable[[Connection], None] | None = None) -> None:
        self.url = url
        self._guard = guard
        self.engine = _engine(url)

    @property
    def is_sqlite(self) -> bool:
        """Whether the store is a file of this machine's."""
        return self.engine.dialect.name == "sqlite"

    @property
    def place(self) -> str:
        """The store as sentences name it: a file, or a database without user and password."""
        url = make_url(self.url)
        return url.database or "in memory" if self.is_sqlite else postgresql.place(url)

    def migrate(self, revision: str = "head") -> None:
        """Bring the tables to this version's, or to `revision`; safe to repeat, and for several processes at once.

        Raises `StoreOnNetwork` for SQLite on NFS or SMB, and the leaves of `store.unreachable`.
        """
        from alembic import command  # imported here: the child process opens the store, and never changes its tables
        from alembic.config import Config
        from alembic.script.revision import ResolutionError
        from alembic.util import CommandError

        if self.is_sqlite:
            folder = Path(make_url(self.url).database or "").parent
            lock.check_file_system(folder)
            folder.mkdir(parents=True, exist_ok=True)
        else:
            postgresql.check(self.engine)
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parents[1] / "migrations"))
        config.attributes["engine"] = self.engine
        try:
            with self._told():
                command.upgrade(config, revision)
        except CommandError as error:
            if isinstance(error.__cause__, ResolutionError):  # a revision that this version does not have
                raise StoreUnsuitable.newer(self.place) from error
            raise

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A read-only transaction on one snapshot. Raises `StoreUnreachable`."""
        with self._told(), self._connected(writes=False) as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction: committed and durable when the block ends, undone when it raises.

        Raises `StoreUnreachable` and `StoreFull`; then nothing of it is there, unless the database went while it was
        committing.
        """
        with self._told(), self._connected(writes=True) as connection, connection.begin():
            if self._guard is not None:
                self._guard(connection)
            yield connection

    @contextlib.contextmanager
    def exclusive(self, name: str, folder: Path) -> Iterator[None]:
        """One process at a time does with this project what `name` stands for; others wait here.

        A killed one holds nobody up. With SQLite the lock is a file in `folder`.
        """
        with lock.exclusive(folder, name) if self.is_sqlite else postgresql.exclusive(self.url, name):
            yield

    def gather_statistics(self) -> None:
        """Let the database look at what its tables hold by now, so that it plans well; after many rows were added."""
        if not self.is_sqlite:
            with self._told():
                postgresql.analyse(self.engine)

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()

    def _connected(self, *, writes: bool) -> Connection:
        if self.is_sqlite:
            return self.engine.connect().execution_options(potato_write=writes)
        return postgresql.writing(self.engine) if writes else postgresql.reading(self.engine)

    def _told(self) -> contextlib.AbstractContextManager[None]:
        return refusals_told() if self.is_sqlite else postgresql.unreachable_told()


def _engine(url: str) -> Engine:
    return postgresql.engine(url) if postgresql.is_postgresql(url) else _sqlite(url)


def _sqlite(url: str) -> Engine:
    if not url.startswith("sqlite:"):
        raise StoreUnsuitable.address()
    connect = {"timeout": WAIT_S, "check_same_thread": False, "factory": _Session}
    engine = create_engine(url, connect_args=connect, json_serializer=for_sqlite)

    @event.listens_for(engine, "connect")
    def _connected(raw: Any, _record: Any) -> None:
        raw.isolation_level = None  # transactions are begun below, not by the driver
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY"):
            raw.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("potato_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    @event.listens_for(engine, "checkin")
    def _given_back(raw: Any, _record: Any) -> None:
        if raw is not None:  # None: it is closed already
            raw.close_cursors()

    return engine


class _Session(sqlite3.Connection):
    """A connection that knows its cursors.

    One that was not read to its end, and that a traceback or a generator still holds, would keep its snapshot open
    beyond the transaction: who gets the connection next would read what stood then, and could write nothing.
    """

    def __init__(self, *settings: Any, **named: Any) -> None:
        super().__init__(*settings, **named)
        self._cursors: weakref.WeakSet[sqlite3.Cursor] = weakref.WeakSet()

    def cursor(self, *settings: Any) -> Any:
        made = super().cursor(*settings)
        self._cursors.add(made)
        return made

    def close_cursors(self) -> None:
        """End whatever is still being read."""
        for each in tuple(self._cursors):
            each.close()
