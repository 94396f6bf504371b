"""Requests that need the supervisor, passed on to the process that has it: as they are, and no right the greater."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from potato.metrics.requests import PASSED_ON
from potato.servers.member import OFFICE
from potato.training.web.routes import AREAS
from potato.training.web.service import NoSupervisor
from potato.web.errors import refusal
from potato.web.proxy import peer_of
from potato.web.site import Site, site_of

if TYPE_CHECKING:
    import httpx

FORWARDED = "x-potato-forwarded"
"""Marks a request that was passed on once. It is passed on no further."""

_CONNECT_S = 3.0
_HOP_BY_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "transfer-encoding",
        "upgrade", "expect",
    }
)  # fmt: skip
_OURS = frozenset({"server", "date"})
"""Headers that this process's own server adds to every answer."""
_ALIVE = [
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5),
      ("TCP_KEEPCNT", 3)) if hasattr(socket, name)),
]  # fmt: skip
"""A machine that has gone without a word is noticed, although its answer may take as long as it likes."""


class Connections:
    """Those to the other processes. They follow no redirect, go through no proxy and keep no cookie."""

    def __init__(self) -> None:
        self._transport: httpx.AsyncHTTPTransport | None = None

    async def send(self, request: httpx.Request) -> httpx.Response:
        """The request's answer as soon as it begins. Raises `httpx.TransportError`."""
        if self._transport is None:
            import httpx

            # One that is idle is let go before the other side closes it.
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=2.0)
            self._transport = httpx.AsyncHTTPTransport(trust_env=False, limits=limits, socket_options=_ALIVE)
        return await self._transport.handle_async_request(request)

    async def close(self) -> None:
        """Close them all."""
        if self._transport is not None:
            await self._transport.aclose()


class Forwarding:
    """Stands behind the limit on bodies, so that what it passes on is whole, and before everything else."""

    def __init__(self, app: ASGIApp, connections: Connections, login_header: str) -> None:
        self.app = app
        self._connections = connections
        self._dropped = frozenset({login_header.lower(), FORWARDED, "host", "content-length", "x-forwarded-for",
                                   "x-forwarded-proto"})  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _needs_supervisor(scope["path"]):
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        site = site_of(request)
        if site.supervises:
            await self.app(scope, receive, send)
        elif FORWARDED in request.headers or site.standing is None or site.standing.office is None:
            await refusal(request, NoSupervisor())(scope, receive, send)
        else:
            scope["route"] = _Area(scope["path"])
            passage = _Passage(self._connections, request, site, site.standing.office.address)
            await passage.go(self._headers(request), send)

    def _headers(self, request: Request) -> list[tuple[bytes, bytes]]:
        """The request's headers as they go on. Whoever asked stays who they are: the mark of a proxy takes the rights
        of this machine's own requests away, and a name that a proxy said is believed by nobody on this way."""
        kept = _end_to_end(request.headers, self._dropped)
        way = [*request.headers.getlist("x-forwarded-for"), peer_of(request)]
        kept += [
            (b"host", request.headers.get("host", "").encode("latin-1")),
            (b"x-forwarded-for", ", ".join(way).encode("latin-1")),
            (b"x-forwarded-proto", request.url.scheme.encode()),
            (FORWARDED.encode(), b"1"),
        ]
        return kept


class _Passage:
    """One request on its way there, and its answer on the way back. It ends when the client leaves, and when another
    process is elected: then the answer would never end, or has no one behind it."""

    def __init__(self, connections: Connections, request: Request, site: Site, address: str) -> None:
        self._connections = connections
        self._request = request
        self._site = site
        self._address = address
        self._begun = False
        self._streams = False

    async def go(self, headers: Sequence[tuple[bytes, bytes]], send: Send) -> None:
        """Pass the request on with `headers`, and its answer back."""
        import httpx

        seen = self._site.notifier.version(OFFICE)
        try:
            passing = asyncio.ensure_future(self._pass(self._asked(headers, await self._request.body()), send))
        except ClientDisconnect:
            return
        ends = [asyncio.ensure_future(self._client_leaves()), asyncio.ensure_future(self._office_changes(seen))]
        try:
            await asyncio.wait([passing, *ends], return_when=asyncio.FIRST_COMPLETED)
            if passing.done():
                passing.result()
                return
        except httpx.TransportError:
            pass  # told below
        finally:
            await _cancelled([passing, *ends])
        if not ends[0].cancelled():
            return  # nobody waits for the rest
        if not self._begun:
            await refusal(self._request, NoSupervisor())(self._request.scope, self._request.receive, send)
        elif self._streams:
            await send({"type": "http.response.body", "body": b""})  # its reader begins another
        # What else has begun is left without its end, so that its reader knows that it is not whole.

    def _asked(self, headers: Sequence[tuple[bytes, bytes]], body: bytes) -> httpx.Request:
        import httpx

        path = self._request.scope.get("raw_path") or self._request.scope["path"].encode()
        query = self._request.scope["query_string"]
        target = httpx.URL(f"http://{self._address}").copy_with(raw_path=path + (b"?" + query if query else b""))
        content = body if body or self._request.method not in ("GET", "HEAD", "OPTIONS") else None
        limits = {"connect": _CONNECT_S, "read": None, "write": 30.0, "pool": None}
        extensions = {"timeout": limits}
        return httpx.Request(self._request.method, target, headers=headers, content=content, extensions=extensions)

    async def _pass(self, asked: httpx.Request, send: Send) -> None:
        answer = await self._connections.send(asked)
        try:
            await self._answer(answer, send)
        finally:
            await answer.aclose()

    async def _answer(self, answer: httpx.Response, send: Send) -> None:
        headers = _end_to_end(Headers(raw=[(name.lower(), value) for name, value in answer.headers.raw]), _OURS)
        self._streams = answer.headers.get("content-type", "").startswith("text/event-stream")
        self._begun = True
        self._request.scope[PASSED_ON] = True
        await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
        async for piece in answer.aiter_raw():
            message: Message = {"type": "http.response.body", "body": piece, "more_body": True}
            await send(message)
        await send({"type": "http.response.body", "body": b""})

    async def _client_leaves(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            continue

    async def _office_changes(self, seen: int) -> None:
        notifier, address = self._site.notifier, self._address
        while not notifier.closed:
            standing = self._site.standing
            if standing is not None and (standing.office is None or standing.office.address != address):
                return
            seen = await notifier.wait(OFFICE, seen, 5.0)


class _Area:
    """Stands for the route of a request that could not be passed on: which one it is, the other process knows."""

    def __init__(self, path: str) -> None:
        self.path_format = next(area for area in AREAS if _is_below(path, area))


def _needs_supervisor(path: str) -> bool:
    return any(_is_below(path, area) for area in AREAS)


def _is_below(path: str, area: str) -> bool:
    return path == area or path.startswith(f"{area}/")


def _end_to_end(headers: Headers, dropped: Iterable[str]) -> list[tuple[bytes, bytes]]:
    """The headers that are not of this connection alone, and not among those `dropped`."""
    named = {name.strip().lower() for value in headers.getlist("connection") for name in value.split(",")}
    left_out = {name.encode("latin-1") for name in {*_HOP_BY_HOP, *named, *dropped}}
    return [(name, value) for name, value in headers.raw if name.lower() not in left_out]


async def _cancelled(tasks: list[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
