"""How annotators and admins are known: hashes of passwords and of sign-in links' tokens. Nobody's password is here."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from potato.errors import PotatoError
from potato.store.clock import to_text
from potato.store.tables import users


class UnknownAnnotator(PotatoError):
    """Nobody has this name."""

    code = "unknown_annotator"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"there is no annotator {name!r:.120}", hint="`potato users add` makes one.")


@dataclass(frozen=True)
class Account:
    """An annotator with the ways in that they have."""

    id: int
    name: str
    is_admin: bool
    password_hash: str | None
    link_digest: str | None
    link_issued_at: str | None
    created_at: str
    done: int
    skipped: int

    def stamp(self, login_type: str) -> str:
        """What a session begun that way carries: it changes with the password, or the link, and ends the session.

        Empty for a way that needs neither.
        """
        return _stamp({"password": self.password_hash, "link": self.link_digest}.get(login_type))


_COLUMNS = (
    users.c.id,
    users.c.name,
    users.c.is_admin,
    users.c.password_hash,
    users.c.link_digest,
    users.c.link_issued_at,
    users.c.created_at,
    users.c.done,
    users.c.skipped,
)
_BY_NAME = select(*_COLUMNS).where(users.c.name == bindparam("wanted"))
_BY_ID = select(*_COLUMNS).where(users.c.id == bindparam("wanted"))
_BY_LINK = select(*_COLUMNS).where(users.c.link_digest == bindparam("wanted"))
_PAGE = select(*_COLUMNS).where(users.c.name > bindparam("after")).order_by(users.c.name).limit(bindparam("limit"))


def by_name(conn: Connection, name: str) -> Account | None:
    """The account called `name`, exactly as written."""
    return _one(conn.execute(_BY_NAME, {"wanted": name}).first())


def by_name_or_raise(conn: Connection, name: str) -> Account:
    """The same. Raises `UnknownAnnotator`."""
    found = by_name(conn, name)
    if found is None:
        raise UnknownAnnotator(name)
    return found


def by_id(conn: Connection, user: int) -> Account | None:
    """The account with that number."""
    return _one(conn.execute(_BY_ID, {"wanted": user}).first())


def by_link(conn: Connection, token: str) -> Account | None:
    """Whose sign-in link has this token. What is looked up is its hash, so time says nothing of the token."""
    return _one(conn.execute(_BY_LINK, {"wanted": _digest(token)}).first())


def page(conn: Connection, after: str = "", limit: int = 100) -> list[Account]:
    """Up to `limit` accounts by name, from the one that follows the name `after`."""
    return [Account(*row) for row in conn.execute(_PAGE, {"after": after, "limit": limit})]


def set_password(conn: Connection, user: int, password_hash: str | None) -> None:
    """Give an account that password's hash; None takes the password away. Its sessions by password end."""
    _set(conn, user, password_hash=password_hash)


def set_link(conn: Connection, user: int, token: str | None, at: datetime) -> None:
    """Make `token` the one of the account's sign-in link; an earlier link, and its sessions, end. None: no link."""
    digest = None if token is None else _digest(token)
    _set(conn, user, link_digest=digest, link_issued_at=None if token is None else to_text(at))


def set_admin(conn: Connection, user: int, is_admin: bool) -> None:
    """Give an account admin rights, or take them away."""
    _set(conn, user, is_admin=is_admin)


def _set(conn: Connection, user: int, **values: Any) -> None:
    conn.execute(update(users).where(users.c.id == user).values(**values))


def _one(row: Any) -> Account | None:
    return None if row is None else Account(*row)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def _stamp(secret_hash: str | None) -> str:
    return "" if secret_hash is None else hashlib.sha256(f"stamp:{secret_hash}".encode()).hexdigest()[:24]
