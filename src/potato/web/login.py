"""The ways in: by name alone, with a password, by a personal link, or as a proxy's header says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request

from potato.errors import PotatoError
from potato.store import Connection, accounts, users
from potato.store.accounts import Account
from potato.store.users import clean_name
from potato.web import passwords
from potato.web.auth import User
from potato.web.proxy import name_by_proxy
from potato.web.site import Site, site_of

Given = Mapping[str, str]
"""What a form of the page sends: name, password, link."""


class WrongPassword(PotatoError):
    """The name or the password is wrong; which of them, is not said."""

    code = "wrong_password"
    status = 401

    def __init__(self) -> None:
        super().__init__("This name and this password do not belong together", hint="Check both, and try again.")


class WrongLink(PotatoError):
    """A sign-in link that is nobody's, or no longer."""

    code = "wrong_link"
    status = 401

    def __init__(self) -> None:
        super().__init__(
            "This sign-in link is not valid, or no longer", hint="Ask whoever runs the project for a new link."
        )


async def enter(request: Request, given: Given) -> tuple[User, str]:
    """Who signs in with what the form sent, and the stamp that their session ends with. Raises a sentence."""
    site = site_of(request)
    return await _WAYS[site.project.config.login.type](request, site, given)


async def check_password(request: Request, name: str, password: str) -> Account:
    """The account that has this name and password. Raises `WrongPassword`, `TooManyAttempts`."""
    site = site_of(request)
    address = request.client.host if request.client else ""
    site.throttle.attempt(name, address, site.clock())
    account = await site.read(lambda connection: accounts.by_name(connection, name))
    right = await asyncio.to_thread(passwords.matches, account.password_hash if account else None, password)
    if account is None or not right:
        raise WrongPassword
    site.throttle.succeeded(name, address)
    return account


async def _by_name(request: Request, site: Site, given: Given) -> tuple[User, str]:
    return await _ensured(site, clean_name(given.get("name", ""))), ""


async def _by_password(request: Request, site: Site, given: Given) -> tuple[User, str]:
    name = clean_name(given.get("name", ""))
    account = await check_password(request, name, given.get("password", ""))
    return User(account.id, account.name), account.stamp("password")


async def _by_link(request: Request, site: Site, given: Given) -> tuple[User, str]:
    token = given.get("link", "").strip().rpartition("#")[2]  # the whole link, or what follows its #
    account = await site.read(lambda connection: accounts.by_link(connection, token)) if token else None
    if account is None:
        raise WrongLink
    return User(account.id, account.name), account.stamp("link")


async def _by_header(request: Request, site: Site, given: Given) -> tuple[User, str]:
    return await _ensured(site, name_by_proxy(request)), ""


async def _ensured(site: Site, name: str) -> User:
    def make(connection: Connection) -> int:
        return users.ensure(connection, name, site.clock())

    return User(await site.write(make), name)


_WAYS: dict[str, Callable[[Request, Site, Given], Awaitable[tuple[User, str]]]] = {
    "name": _by_name,
    "password": _by_password,
    "link": _by_link,
    "header": _by_header,
}
