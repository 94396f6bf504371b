"""What every request and every answer passes: a limit on bodies, and the headers that keep a browser strict."""

from __future__ import annotations

import json
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from potato.web.errors import BodyTooLarge

MAX_BODY = 1_000_000
"""Bytes that a request's body may have."""


class BodyLimit:
    """Reads each body before the application does, and answers 413 for one that is too large."""

    def __init__(self, app: ASGIApp, limit: int = MAX_BODY) -> None:
        self.app = app
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "")
        size = int(announced) if announced.isdigit() else None
        try:
            body = None if size is not None and size > self.limit else await self._read(receive)
        except ClientDisconnect:
            return  # half a body is none, and nobody waits for an answer
        if body is None:
            await _refuse(send, BodyTooLarge(self.limit, size))
        else:
            await self.app(scope, _replay(body, receive), send)

    async def _read(self, receive: Receive) -> bytes | None:
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            body += message.get("body", b"")
            if len(body) > self.limit:
                return None
            if not message.get("more_body", False):
                return bytes(body)


class SecurityHeaders:
    """Adds the headers to every answer that does not bring its own."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.headers = {
            "content-security-policy": content_security_policy(),
            "referrer-policy": "same-origin",
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "cross-origin-opener-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers.setdefault(name, value)
                # Nothing is kept without asking again: pages show labels, and scripts must match their page.
                headers.setdefault("cache-control", "no-cache" if "etag" in headers else "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


def content_security_policy(media_hosts: Iterable[str] = ()) -> str:
    """Only this server's own files run, style or are talked to; images and recordings may come from `media_hosts`."""
    media = " ".join(["'self'", "data:", *media_hosts])
    rules: Iterable[str] = (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "font-src 'self'",
        f"img-src {media}",
        f"media-src {media}",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
    return "; ".join(rules)


async def _refuse(send: Send, error: BodyTooLarge) -> None:
    body = json.dumps(error.as_json()).encode()
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _replay(body: bytes, receive: Receive) -> Receive:
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay
