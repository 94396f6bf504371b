"""Annotators."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select

from potato.errors import PotatoError
from potato.store.clock import to_text
from potato.store.tables import users

MAX_NAME = 200


class InvalidName(PotatoError):
    """A name that no annotator can have. Nothing was saved."""

    code = "invalid_name"
    status = 400


@dataclass(frozen=True)
class User:
    """An annotator, with how many items they have answered and skipped."""

    id: int
    name: str
    is_admin: bool
    created_at: str
    done: int
    skipped: int


_COLUMNS = (users.c.id, users.c.name, users.c.is_admin, users.c.created_at, users.c.done, users.c.skipped)
_BY_NAME = select(*_COLUMNS).where(users.c.name == bindparam("wanted"))
_BY_ID = select(*_COLUMNS).where(users.c.id == bindparam("wanted"))
_PAGE = select(*_COLUMNS).where(users.c.name > bindparam("after")).order_by(users.c.name).limit(bindparam("limit"))


def check_name(name: str) -> str:
    """`name`, or `InvalidName`: a name is 1 to 200 characters that print, and does not begin or end with a space."""
    if not name.strip():
        raise InvalidName("an annotator's name cannot be empty")
    if len(name) > MAX_NAME:
        raise InvalidName(f"an annotator's name has at most {MAX_NAME} characters; this one has {len(name)}")
    if name != name.strip():
        raise InvalidName(f"the annotator's name {name!r} begins or ends with a space")
    if not name.isprintable():
        raise InvalidName(f"the annotator's name {name!r} holds characters that cannot be shown")
    return name


def clean_name(name: str) -> str:
    """`name` composed, with single spaces and none at the ends, so that one person is one annotator.

    Raises `InvalidName`.
    """
    return check_name(" ".join(unicodedata.normalize("NFC", name).split()))


def ensure(conn: Connection, name: str, at: datetime) -> int:
    """The id of the annotator called `name`, exactly as written, who is made where there is none yet."""
    known = by_name(conn, name)
    if known is not None:
        return known.id
    row = {"name": check_name(name), "is_admin": False, "created_at": to_text(at), "done": 0, "skipped": 0}
    made: int = conn.execute(insert(users).returning(users.c.id), row).scalar_one()
    return made


def by_name(conn: Connection, name: str) -> User | None:
    """The annotator called `name`, exactly as written."""
    row = conn.execute(_BY_NAME, {"wanted": name}).first()
    return None if row is None else _user(row)


def by_id(conn: Connection, user: int) -> User | None:
    """The annotator with the id `user`."""
    row = conn.execute(_BY_ID, {"wanted": user}).first()
    return None if row is None else _user(row)


def page(conn: Connection, after: str = "", limit: int = 100) -> list[User]:
    """Up to `limit` annotators by name, from the one that follows the name `after`."""
    return [_user(row) for row in conn.execute(_PAGE, {"after": after, "limit": limit})]


def _user(row: Any) -> User:
    return User(*row)
