"""Who is asking: an annotator, an admin, or neither."""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends
from starlette.requests import Request
from starlette.responses import Response

from potato.errors import PotatoError
from potato.store import accounts
from potato.store.accounts import Account
from potato.web.proxy import name_by_proxy
from potato.web.site import site_of

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class NotSignedIn(PotatoError):
    """Nobody is signed in. What the page holds is kept there."""

    code = "not_signed_in"
    status = 401
    page = "annotate/sign_in.html"

    def __init__(self) -> None:
        super().__init__("You are not signed in", hint="Sign in again; answers not yet saved are sent then.")


class NotAdmin(PotatoError):
    """The request carries no admin right."""

    code = "not_admin"
    status = 401
    page = "admin/sign_in.html"

    def __init__(self, key_is_set: bool) -> None:
        self.key_is_set = key_is_set
        set_one = "Set `admin_api_key` in the project file and start the server again."
        enter = "Enter the admin key at /admin, or send it in the header X-API-Key."
        super().__init__("This needs the admin key", hint=enter if key_is_set else set_one)


class NoAdmin(PotatoError):
    """A right name and password, of somebody who is no admin."""

    code = "no_admin"
    status = 403

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not an admin", hint="`potato users admin` gives an annotator admin rights.")


class WrongAdminKey(PotatoError):
    """An admin key was given, and it is not the project's."""

    code = "wrong_admin_key"
    status = 401

    def __init__(self) -> None:
        super().__init__("This is not the project's admin key", hint="It is `admin_api_key` in the project file.")


class CrossOrigin(PotatoError):
    """A page of another origin tried to change something with this browser's session."""

    code = "cross_origin"
    status = 403

    def __init__(self) -> None:
        super().__init__("This request did not come from a page of this server, so nothing was changed")


@dataclass(frozen=True)
class User:
    """An annotator who is signed in."""

    id: int
    name: str


@dataclass(frozen=True)
class Admin:
    """An admin; `name` is what a run records as who started it."""

    name: str
    by_session: bool
    account: tuple[int, str] | None = None
    """Of an admin with a name: the account's number, and the stamp that the session began with."""


def user_of(request: Request) -> User | None:
    """The annotator whose session the browser shows, if any; `current_user` sees to it that it still holds."""
    value = site_of(request).sessions.read(request, "annotator")
    return User(value["id"], value["name"]) if value else None


async def current_user(request: Request) -> User:
    """The annotator who is signed in. Raises `NotSignedIn`, or `CrossOrigin` for a change asked for from elsewhere."""
    user = user_of(request)
    if user is None or not await _holds(request, user):
        raise NotSignedIn
    check_origin(request)
    return user


async def _holds(request: Request, user: User) -> bool:
    """Whether the session is still good: a new password or link ends it, and so does another name at the proxy."""
    site = site_of(request)
    way = site.project.config.login.type
    if way == "header":
        return name_by_proxy(request) == user.name
    if way == "name":
        return True
    stamp = site.sessions.read(request, "annotator").get("stamp", "")
    account = await site.read(lambda connection: accounts.by_id(connection, user.id))
    return bool(stamp) and account is not None and account.stamp(way) == stamp


def sign_in(request: Request, response: Response, user: User, stamp: str = "") -> None:
    """Remember `user` in the browser that gets `response`; `stamp` is what `Account.stamp` gives."""
    value = {"id": user.id, "name": user.name, **({"stamp": stamp} if stamp else {})}
    site_of(request).sessions.write(request, response, "annotator", value)


def admin_of(request: Request) -> Admin | None:
    """The admin who asks, if it is one. Raises `WrongAdminKey` for a key that is not the project's, `TooManyAttempts`.

    Whether an account still has the right, `verified_admin` looks up.
    """
    site = site_of(request)
    given = request.headers.get("x-api-key")
    if given is not None:
        check_key(request, given)
        return Admin("api", by_session=False)
    if site.admin_key is not None and site.sessions.read(request, "admin", site.admin_key):
        return Admin("admin", by_session=True)
    account = site.sessions.read(request, "account")
    if account:
        return Admin(account["name"], by_session=True, account=(account["id"], account["stamp"]))
    if site.project.config.debug and is_local(request):
        return Admin("debug", by_session=False)
    return None


async def verified_admin(request: Request) -> Admin | None:
    """`admin_of`, where the right still stands: taking it away, or a new password, ends an account's session."""
    admin = admin_of(request)
    if admin is None or admin.account is None:
        return admin
    number, stamp = admin.account
    account = await site_of(request).read(lambda connection: accounts.by_id(connection, number))
    stands = account is not None and account.is_admin and account.stamp("password") == stamp
    return admin if stands else None


async def require_admin(request: Request) -> Admin:
    """The admin who asks. Raises `NotAdmin`, `WrongAdminKey` or `CrossOrigin`."""
    admin = await verified_admin(request)
    if admin is None:
        raise NotAdmin(site_of(request).admin_key is not None)
    if "x-api-key" not in request.headers:
        check_origin(request, strict=admin.by_session)
    return admin


def check_key(request: Request, given: str) -> None:
    """Raise `WrongAdminKey` unless `given` is the admin key, also where the project has none; or `TooManyAttempts`."""
    if not is_key(request, given, site_of(request).admin_key):
        raise WrongAdminKey


def is_key(request: Request, given: str, *keys: str | None) -> bool:
    """Whether `given` is one of the `keys` that there are, compared in constant time. Raises `TooManyAttempts`."""
    site = site_of(request)
    address = request.client.host if request.client else ""
    site.throttle.check_key(address, site.clock())
    said = given.encode("utf-8", "replace")
    right = any(hmac.compare_digest(said, key.encode()) for key in keys if key)
    if not right:
        site.throttle.wrong_key(address, given, site.clock())
    return right


def sign_in_admin(request: Request, response: Response) -> None:
    """Give the browser that gets `response` an admin session; it ends when the key changes."""
    site = site_of(request)
    site.sessions.write(request, response, "admin", True, site.admin_key or "")


def sign_in_account(request: Request, response: Response, account: Account) -> None:
    """Give the browser that gets `response` the admin session of an account. Raises `NoAdmin`."""
    if not account.is_admin:
        raise NoAdmin(account.name)
    value = {"id": account.id, "name": account.name, "stamp": account.stamp("password")}
    site_of(request).sessions.write(request, response, "account", value)


def check_origin(request: Request, *, strict: bool = True) -> None:
    """Let a state-changing request pass only from a page of this server. Raises `CrossOrigin`.

    Browsers say where a request comes from in `Sec-Fetch-Site`, or at least in `Origin`. One that says neither is no
    browser; it passes where `strict` is off, that is, where no cookie gave the right.
    """
    if request.method in SAFE_METHODS:
        return
    fetch_site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if fetch_site is not None:
        same = fetch_site in ("same-origin", "none")
    elif origin is not None:
        same = urlsplit(origin).netloc.lower() in _own_hosts(request)
    else:
        same = not strict
    if not same:
        raise CrossOrigin


def is_local(request: Request) -> bool:
    """Whether the request comes from this machine itself: not through a proxy, and under a name of this machine's."""
    if request.client is None or any(name in request.headers for name in ("x-forwarded-for", "forwarded", "x-real-ip")):
        return False
    return _is_loopback(request.client.host) and _is_loopback(request.url.hostname or "")


def _own_hosts(request: Request) -> set[str]:
    hosts = (request.headers.get("host", ""), request.headers.get("x-forwarded-host", ""))
    return {host.lower() for host in hosts if host}


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


UserDep = Annotated[User, Depends(current_user)]
"""The annotator who is signed in, as a parameter of a route."""

AdminDep = Annotated[Admin, Depends(require_admin)]
"""The admin who asks, as a parameter of a route."""
