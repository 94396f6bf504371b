"""A session of PostgreSQL's that is kept for as long as its owner lives, and carries a lock that ends with it.

Neither side takes it for alive when it is not: both are told within seconds that the other is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection, func, select

from potato.store.databases import postgresql

T = TypeVar("T")

_SESSION = (
    "SET tcp_keepalives_idle = 3",
    "SET tcp_keepalives_interval = 1",
    "SET tcp_keepalives_count = 4",
    "SET tcp_user_timeout = 5000",
    "SET statement_timeout = '20s'",
    "SET lock_timeout = 0",
)
"""How soon the database notices that this side is gone; and no question here may take longer."""


class Dedicated:
    """The session is begun when it is first used, and again after `close`."""

    def __init__(self, url: str) -> None:
        self._engine = postgresql.dedicated(url)
        self._connection: Connection | None = None

    def lock(self, name: str) -> bool:
        """Take the lock of that name for as long as the session lasts; false where another session has it."""

        def take(connection: Connection) -> bool:
            key = postgresql.lock_key(connection, name)
            return bool(connection.execute(select(func.pg_try_advisory_lock(key))).scalar_one())

        return self.transaction(take)

    def transaction(self, function: Callable[[Connection], T], *, writes: bool = False) -> T:
        """What `function` gives in a transaction of this session; one that `writes` waits for those of other writers.

        Raises `StoreUnreachable` where the session has broken off, or could not be begun.
        """
        with postgresql.unreachable_told():
            connection = self._opened().execution_options(potato_write=writes)
            with connection.begin():
                return function(connection)

    def close(self) -> None:
        """End the session, and with it whatever it holds."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()

    def _opened(self) -> Connection:
        if self._connection is None:
            self._connection = self._engine.connect()
            with self._connection.begin():
                for setting in _SESSION:
                    self._connection.exec_driver_sql(setting)
        return self._connection
