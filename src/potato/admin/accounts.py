"""What the users page does: make annotators, give them ways in, and take those away."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from potato.errors import PotatoError
from potato.store import Connection, accounts, users
from potato.web import passwords

Action = Literal["add", "link", "password", "revoke", "admin", "no-admin"]


class NoPasswordYet(PotatoError):
    """Somebody was to be an admin who could not sign in as one."""

    code = "no_password_yet"
    status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} has no password, and admins sign in with one", hint="Give a password first.")


class NameTaken(PotatoError):
    """Somebody was to be added who is there."""

    code = "name_taken"
    status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"there is an annotator {name!r:.120} already")


@dataclass(frozen=True)
class Done:
    """What came of an action. `secret` is shown once: a password, or a link's token; only its hash was stored."""

    name: str
    what: str
    secret: str | None = None
    is_link: bool = False


Change = Callable[[Connection], Done]


def add(name: str, at: datetime) -> Change:
    """Make an annotator. The change raises `NameTaken`, `InvalidName`."""
    cleaned = users.clean_name(name)

    def change(connection: Connection) -> Done:
        if accounts.by_name(connection, cleaned) is not None:
            raise NameTaken(cleaned)
        users.ensure(connection, cleaned, at)
        return Done(cleaned, f"{cleaned} was added.")

    return change


def new_link(name: str, at: datetime) -> Change:
    """Give an annotator a sign-in link; an earlier one opens nothing any more."""
    token = secrets.token_urlsafe(24)

    def change(connection: Connection) -> Done:
        account = accounts.by_name_or_raise(connection, name)
        accounts.set_link(connection, account.id, token, at)
        return Done(name, f"{name} has a new sign-in link. It is shown only now.", token, is_link=True)

    return change


def new_password(name: str, password: str | None = None) -> Change:
    """Give an annotator that password, or one made up here. Call it off the event loop: hashing takes its time."""
    chosen = passwords.made_up() if password is None else password
    digest = passwords.hashed(chosen)

    def change(connection: Connection) -> Done:
        account = accounts.by_name_or_raise(connection, name)
        accounts.set_password(connection, account.id, digest)
        if password is not None:
            return Done(name, f"{name} has a new password.")
        return Done(name, f"{name} has a new password. It is shown only now.", chosen)

    return change


def revoke(name: str, at: datetime) -> Change:
    """Take an annotator's link, password and admin rights away. Their answers stay."""

    def change(connection: Connection) -> Done:
        account = accounts.by_name_or_raise(connection, name)
        accounts.set_link(connection, account.id, None, at)
        accounts.set_password(connection, account.id, None)
        accounts.set_admin(connection, account.id, False)
        return Done(name, f"{name} can no longer sign in by link or password. What {name} answered stays.")

    return change


def make_admin(name: str, is_admin: bool) -> Change:
    """Give admin rights, or take them away. The change raises `NoPasswordYet`."""

    def change(connection: Connection) -> Done:
        account = accounts.by_name_or_raise(connection, name)
        if is_admin and account.password_hash is None:
            raise NoPasswordYet(name)
        accounts.set_admin(connection, account.id, is_admin)
        return Done(name, f"{name} is an admin." if is_admin else f"{name} is no longer an admin.")

    return change
