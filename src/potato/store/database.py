"""Opening the store: engines, migrations, and the lock that keeps a second server out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url

from potato.store.lock import check_file_system

BUSY_TIMEOUT_S = 60


class Database:
    """The store of one project.

    `read` gives short read-only transactions that see one snapshot and never wait for a writer. `write` is one
    transaction, begun immediately; it serves child processes and the command line. In the server every interactive
    write goes through `store.writer.Writer` instead, which alone calls `write` there.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _engine(url)

    @property
    def is_sqlite(self) -> bool:
        """Whether the store is a file of this machine's."""
        return self.engine.dialect.name == "sqlite"

    def migrate(self) -> None:
        """Bring the tables to this version's; safe to repeat. Raises `StoreOnNetwork` for SQLite on NFS or SMB."""
        if self.is_sqlite:
            folder = Path(make_url(self.url).database or "").parent
            check_file_system(folder)
            folder.mkdir(parents=True, exist_ok=True)
        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        config.attributes["engine"] = self.engine
        command.upgrade(config, "head")

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """A read-only transaction on one snapshot."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction: committed and durable when the block ends, undone when it raises."""
        with self.engine.connect().execution_options(potato_write=True) as connection, connection.begin():
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def _engine(url: str) -> Engine:
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True)
    engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _connected(raw: Any, _record: Any) -> None:
        raw.isolation_level = None  # transactions are begun below, not by the driver
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY"):
            raw.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("potato_write", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
