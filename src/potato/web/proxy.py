"""Names that an organisation's proxy says, for `login: {type: header}`."""

from __future__ import annotations

import ipaddress

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from potato.errors import PotatoError
from potato.store.users import clean_name
from potato.web.site import site_of


class RememberPeer:
    """Notes where a connection comes from, before a proxy's `X-Forwarded-For` takes that place."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["potato.peer"] = scope.get("client")
        await self.app(scope, receive, send)


class NotThroughProxy(PotatoError):
    """A request that did not come through the proxy that says who people are."""

    code = "not_through_proxy"
    status = 403

    def __init__(self, address: str) -> None:
        super().__init__(
            f"This request came from {address:.60}, which is not a proxy that this server trusts to say who you are",
            hint="Open the page by way of the proxy. Whoever runs the project can name it in login.trusted_proxies.",
        )


class ProxySaysNobody(PotatoError):
    """The proxy's request has no name in its header, or more than one."""

    code = "proxy_says_nobody"
    status = 401

    def __init__(self, header: str, count: int) -> None:
        what = "is missing" if count == 0 else f"is there {count} times"
        super().__init__(
            f"The proxy did not say who you are: the header {header} {what}",
            hint="Sign in at the proxy, and load the page again.",
        )


def name_by_proxy(request: Request) -> str:
    """The name that the proxy's header gives. Raises `NotThroughProxy`, `ProxySaysNobody`, `InvalidName`."""
    login = site_of(request).project.config.login
    address = peer_of(request)
    if not _is_within(address, login.trusted_proxies):
        raise NotThroughProxy(address)
    said = [value for value in request.headers.getlist(login.header) if value.strip()]
    if len(said) != 1:
        raise ProxySaysNobody(login.header, len(said))
    return clean_name(_decoded(said[0]))


def peer_of(request: Request) -> str:
    """The address that the connection came from: the proxy's, where there is one."""
    peer = request.scope.get("potato.peer") or request.client
    return str(peer[0]) if peer else "an unknown address"


def _is_within(address: str, networks: list[str]) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None) or found
    return any(mapped in ipaddress.ip_network(network, strict=False) for network in networks)


def _decoded(value: str) -> str:
    """A header's text: Starlette reads bytes as Latin-1, proxies write UTF-8."""
    try:
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value
