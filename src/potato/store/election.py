"""Which of several server processes on one PostgreSQL database supervises the runs: one at a time, elected.

The office is a lock that belongs to a session: whoever's session ends, however it ends, has left it. Each election has
a number, its epoch, which stands in the store. A write of a supervisor looks whether its epoch is still the present
one, in the transaction in which it writes; so a process that was stalled and does not know yet that another was
elected changes nothing.
"""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol, TypeVar

from sqlalchemy import Connection, text
from sqlalchemy.engine import make_url

from potato.errors import PotatoError
from potato.store import facts
from potato.store.clock import Clock, to_text, utc_now
from potato.store.databases import postgresql
from potato.store.databases.dedicated import Dedicated

T = TypeVar("T")

FACT = "office"
LOCK = "supervisor"

STALE_S = 10.0
"""Who has not looked for so long, because it was stalled, does not take itself for the supervisor until it has."""
DEPOSE_S = 30.0
"""A supervisor that holds the lock and has not looked for so long is stalled: its session is ended."""

_STALLED = text(
    """
    SELECT pg_terminate_backend(holder.pid)
    FROM pg_locks AS lock JOIN pg_stat_activity AS holder ON holder.pid = lock.pid
    WHERE lock.locktype = 'advisory' AND lock.granted AND lock.objsubid = 1
      AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
      AND lock.classid = CAST(CAST(:high AS bigint) AS oid) AND lock.objid = CAST(CAST(:low AS bigint) AS oid)
      AND holder.state_change < clock_timestamp() - make_interval(secs => :seconds)
    """
)

_log = logging.getLogger("potato.servers")


class OutOfOffice(PotatoError):
    """Another server process was elected to supervise the runs, so this one has written nothing."""

    code = "out_of_office"
    status = 503
    retry_after_s = 1

    def __init__(self) -> None:
        super().__init__(
            "Another server supervises the runs now, so nothing was changed", hint="Try again: it is asked then."
        )


@dataclass(frozen=True)
class Office:
    """Who was elected last: the number of the election, where that process is reached, and on which machine it runs."""

    epoch: int
    address: str
    host: str
    since: str


@dataclass(frozen=True)
class Standing:
    """How things stood when this process looked last, at `looked_at` of the monotonic clock.

    `epoch` is its own where it holds the office. `office` is None while the store cannot be asked, or before the first
    election.
    """

    epoch: int | None
    office: Office | None
    looked_at: float

    @property
    def supervises(self) -> bool:
        """Whether this process supervises the runs."""
        return self.epoch is not None and time.monotonic() - self.looked_at < STALE_S


def office(connection: Connection) -> Office | None:
    """Who was elected last."""
    found = facts.get(connection, FACT)
    return Office(**found) if found else None


def server_of(url: str) -> tuple[str, int]:
    """Host and port of the database server at `url`; an empty host for one on this machine."""
    found = make_url(url)
    return str(found.host or found.query.get("host") or ""), int(found.port or 5432)


class Writes(Protocol):
    """What makes a function's writes durable: the store's writer, or one with a fence before it."""

    def call(self, function: Callable[[Connection], T]) -> T:
        """The function's answer, once its effect is on disk."""


class Fence:
    """Lets a transaction go on only while nobody was elected after `epoch`; before `writer`, it lets such writes in."""

    def __init__(self, writer: Writes, epoch: int) -> None:
        self._writer = writer
        self.epoch = epoch

    def call(self, function: Callable[[Connection], T]) -> T:
        """As `Writer.call`. Raises `OutOfOffice`; then nothing was written."""

        def fenced(connection: Connection) -> T:
            check(connection, self.epoch)
            return function(connection)

        return self._writer.call(fenced)


def check(connection: Connection, epoch: int) -> None:
    """Raise `OutOfOffice` in a transaction of somebody elected as `epoch`, once somebody else was elected."""
    found = facts.get(connection, FACT)
    if found is None or found["epoch"] != epoch:
        raise OutOfOffice


class Candidate:
    """One process that stands for the office, or holds it. For one thread, which lets it `look` about every second."""

    def __init__(self, url: str, address: str, clock: Clock = utc_now, depose_s: float = DEPOSE_S) -> None:
        self._session = Dedicated(url)
        self._address = address
        self._clock = clock
        self._depose_s = depose_s
        self._epoch: int | None = None

    def look(self) -> Standing:
        """Make sure of the office, or stand for it. Raises `StoreUnreachable`; the office, if held, is lost then."""
        began = time.monotonic()
        try:
            found = self._look()
        except BaseException:
            self.resign()
            raise
        return Standing(self._epoch, found, began)

    def resign(self) -> None:
        """Leave the office, if it is held, and end the session; the next `look` begins another."""
        self._epoch = None
        self._session.close()

    def _look(self) -> Office | None:
        if self._epoch is None:
            if self._session.lock(LOCK):
                self._epoch = self._session.transaction(self._elect, writes=True)
            else:
                self._session.transaction(self._depose)
        found = self._session.transaction(office)
        if self._epoch is not None and (found is None or found.epoch != self._epoch):
            self.resign()
        return found

    def _elect(self, connection: Connection) -> int:
        before = office(connection)
        epoch = before.epoch + 1 if before else 1
        elected = Office(epoch, self._address, platform.node(), to_text(self._clock()))
        facts.put(connection, FACT, asdict(elected))
        return epoch

    def _depose(self, connection: Connection) -> None:
        """End the session of a supervisor that has stalled with the lock in its hands."""
        high, low = divmod(postgresql.lock_key(connection, LOCK) % (1 << 64), 1 << 32)
        if connection.execute(_STALLED, {"high": high, "low": low, "seconds": self._depose_s}).all():
            _log.warning("the server that supervises the runs has not stirred for %g s: it is deposed", self._depose_s)
