"""Agents' tokens in the store: only their hash, and when and from where they were last used."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from sqlalchemy import Connection, delete, insert, select, update

from potato.store.tables import agent_tokens


@dataclass(frozen=True)
class TokenRecord:
    """What is known of a backend's token. Times are text as in `store.clock`."""

    backend: str
    issued_at: str
    last_seen: str | None
    host: str | None


def issue(connection: Connection, backend: str, token: str, at: str) -> None:
    """Make `token` the backend's one token; an earlier one is taken no more."""
    connection.execute(delete(agent_tokens).where(agent_tokens.c.backend == backend))
    connection.execute(insert(agent_tokens).values(backend=backend, digest=_digest(token), issued_at=at))


def backend_of(connection: Connection, token: str) -> str | None:
    """The backend that `token` is for. What is compared is its hash, in constant time."""
    given = _digest(token)
    found = None
    for backend, digest in connection.execute(select(agent_tokens.c.backend, agent_tokens.c.digest)):
        if hmac.compare_digest(digest, given):
            found = backend
    return found


def see(connection: Connection, backend: str, host: str, at: str) -> None:
    """The backend's agent said something."""
    connection.execute(update(agent_tokens).where(agent_tokens.c.backend == backend).values(last_seen=at, host=host))


def record(connection: Connection, backend: str) -> TokenRecord | None:
    """What is known of a backend's token; None where none was issued."""
    columns = agent_tokens.c
    query = select(columns.backend, columns.issued_at, columns.last_seen, columns.host)
    row = connection.execute(query.where(columns.backend == backend)).one_or_none()
    return TokenRecord(*row) if row else None


def last_seen(connection: Connection) -> dict[str, str]:
    """Backend → when its agent was heard last, for those that ever were."""
    query = select(agent_tokens.c.backend, agent_tokens.c.last_seen).where(agent_tokens.c.last_seen.is_not(None))
    return {row.backend: row.last_seen for row in connection.execute(query)}


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
