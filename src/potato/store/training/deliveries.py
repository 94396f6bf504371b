"""The outbox of webhooks: what is to be told to whom, and what became of it.

A row is written in the transaction of what it tells of, so neither is ever there without the other.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, update

from potato.store import facts
from potato.store.tables import deliveries

MAX_WAITING = 1000
"""Events that may wait for one address; beyond, the oldest is given up."""
MAX_KEPT = 100
"""Finished deliveries that are kept for one address, to look at."""

TOO_MANY = f"given up: more than {MAX_WAITING:,} events were waiting for this address"


class Stage(str, Enum):
    """Where a delivery is."""

    WAITING = "waiting"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True)
class Delivery:
    """One event for one address. `id` is the same at every attempt; times are text as in `store.clock`; `due` is when
    it is tried next."""

    seq: int
    id: str
    hook: str
    event: str
    body: str
    at: str
    state: Stage
    attempts: int
    due: str
    status: int | None
    error: str | None
    finished_at: str | None

    def as_json(self) -> dict[str, Any]:
        """The delivery in the API's shape; the body is for the receiver alone."""
        hidden = ("seq", "hook", "body")
        return {name: value for name, value in vars(self).items() if name not in hidden} | {"state": self.state.value}


def add(connection: Connection, hook: str, identifier: str, event: str, body: str, at: str) -> None:
    """Have an event delivered."""
    waiting = _waiting(hook)
    count = connection.execute(select(func.count()).select_from(deliveries).where(waiting)).scalar_one()
    if count >= MAX_WAITING:
        oldest = select(func.min(deliveries.c.seq)).where(waiting).scalar_subquery()
        values = {"state": Stage.FAILED.value, "error": TOO_MANY, "finished_at": at}
        connection.execute(update(deliveries).where(deliveries.c.seq == oldest).values(**values))
    values = {"hook": hook, "id": identifier, "event": event, "body": body, "at": at, "due": at}
    connection.execute(insert(deliveries).values(state=Stage.WAITING.value, attempts=0, **values))


def next_due(connection: Connection, hook: str) -> Delivery | None:
    """The delivery for that address that is to be tried first; it may not be due yet."""
    return _first(connection, select(deliveries).where(_waiting(hook)).order_by(deliveries.c.due, deliveries.c.seq))


def get(connection: Connection, identifier: str) -> Delivery | None:
    """The delivery of that id."""
    return _first(connection, select(deliveries).where(deliveries.c.id == identifier))


def latest(connection: Connection, hook: str, limit: int) -> Sequence[Delivery]:
    """An address's deliveries, the newest first."""
    query = select(deliveries).where(deliveries.c.hook == hook).order_by(deliveries.c.seq.desc()).limit(limit)
    return [_delivery(row) for row in connection.execute(query)]


def delivered(connection: Connection, identifier: str, status: int, at: str) -> None:
    """The address took it."""
    values = {"state": Stage.DELIVERED.value, "status": status, "error": None, "finished_at": at}
    _attempted(connection, identifier, **values)
    _tidy(connection, identifier)


def put_off(connection: Connection, identifier: str, status: int | None, error: str, due: str) -> None:
    """The address did not take it; it is tried again at `due`."""
    _attempted(connection, identifier, status=status, error=error, due=due)


def give_up(connection: Connection, identifier: str, status: int | None, error: str, at: str) -> None:
    """The address did not take it, and it is not tried again."""
    _attempted(connection, identifier, status=status, error=error, state=Stage.FAILED.value, finished_at=at)
    _tidy(connection, identifier)


def waiting_hooks(connection: Connection) -> set[str]:
    """The addresses for which something waits."""
    query = select(deliveries.c.hook).where(deliveries.c.state == Stage.WAITING.value).distinct()
    return set(connection.execute(query).scalars())


def keep_hooks(connection: Connection, hooks: Collection[str], at: str) -> None:
    """Give up what waits for addresses that the project file no longer names."""
    gone = (deliveries.c.state == Stage.WAITING.value) & deliveries.c.hook.not_in(list(hooks))
    values = {"state": Stage.FAILED.value, "error": "given up: the project file no longer names this address"}
    connection.execute(update(deliveries).where(gone).values(**values, finished_at=at))


def attempts(connection: Connection) -> dict[str, int]:
    """Outcome (`taken`, `refused`) → how many attempts had it, ever."""
    return {outcome: facts.tally(connection, f"webhook_{outcome}") for outcome in ("taken", "refused")}


def counts(connection: Connection, hook: str) -> dict[str, int]:
    """Stage → how many deliveries for that address are in it."""
    query = select(deliveries.c.state, func.count()).where(deliveries.c.hook == hook).group_by(deliveries.c.state)
    return {row[0]: row[1] for row in connection.execute(query)}


def _waiting(hook: str) -> Any:
    return (deliveries.c.hook == hook) & (deliveries.c.state == Stage.WAITING.value)


def _attempted(connection: Connection, identifier: str, **values: Any) -> None:
    facts.count(connection, "webhook_taken" if values.get("error") is None else "webhook_refused", 1)
    mine = deliveries.c.id == identifier
    connection.execute(update(deliveries).where(mine).values(attempts=deliveries.c.attempts + 1, **values))


def _tidy(connection: Connection, identifier: str) -> None:
    """Delete what is finished beyond the newest `MAX_KEPT` of the same address."""
    hook = select(deliveries.c.hook).where(deliveries.c.id == identifier).scalar_subquery()
    finished = (deliveries.c.hook == hook) & (deliveries.c.state != Stage.WAITING.value)
    old = select(deliveries.c.seq).where(finished).order_by(deliveries.c.seq.desc()).offset(MAX_KEPT)
    connection.execute(delete(deliveries).where(deliveries.c.seq.in_(old.scalar_subquery())))


def _first(connection: Connection, query: Any) -> Delivery | None:
    row = connection.execute(query.limit(1)).first()
    return _delivery(row) if row is not None else None


def _delivery(row: Any) -> Delivery:
    return Delivery(**{**row._mapping, "state": Stage(row.state)})
