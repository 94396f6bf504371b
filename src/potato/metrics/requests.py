"""Counts requests and measures how long they take, by route, never by address: ids would make endless series."""

from __future__ import annotations

import time
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
PASSED_ON = "potato.passed_on"
"""Stands in a request's scope once another process of the project answers it, and counts it."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


class Requests:
    """The figures of one server's requests."""

    def __init__(self, registry: CollectorRegistry) -> None:
        names = ("method", "route")
        self._count = Counter("potato_requests", "Requests answered.", (*names, "status"), registry=registry)
        self._seconds = Histogram(
            "potato_request_seconds",
            "Seconds until a request was answered whole; event streams until they began.",
            names,
            buckets=BUCKETS,
            registry=registry,
        )

        told = (
            "Requests that the server which supervises the runs has answered in this one's place; it counts them too."
        )
        self._passed_on = Counter("potato_requests_passed_on", told, ("status",), registry=registry)

    def pass_on(self, status: int) -> None:
        """A request was answered by another process."""
        self._passed_on.labels(str(status)).inc()

    def note(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        method = method if method in _METHODS else "other"
        self._count.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


class Measured:
    """Measures each request to `app`, in `requests`."""

    def __init__(self, app: ASGIApp, requests: Requests) -> None:
        self.app = app
        self._requests = requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status, streams = time.perf_counter(), 500, False

        def note() -> None:
            if PASSED_ON in scope:
                self._requests.pass_on(status)
            else:
                self._requests.note(scope["method"], route_of(scope), status, time.perf_counter() - began)

        async def watched(message: Message) -> None:
            nonlocal status, streams
            if message["type"] == "http.response.start":
                status = message["status"]
                streams = _is_stream(message)
                if streams:
                    note()
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            if not streams:
                note()


def route_of(scope: Scope) -> str:
    """The route that answered, such as `/annotate/{seq}/answers`; `none` where no route did."""
    route: Any = scope.get("route")
    template = getattr(route, "path_format", None)
    if template is None:
        return "/static" if scope.get("app_root_path") is not None and "endpoint" in scope else "none"
    path, filled = scope["path"], template.format(**scope.get("path_params") or {})
    if filled and not path.endswith(filled):
        return str(template)
    return f"{path[: len(path) - len(filled)]}{template}" or "/"  # a router's prefix stands in the path alone


def _is_stream(message: Message) -> bool:
    return any(
        name == b"content-type" and value.startswith(b"text/event-stream") for name, value in message.get("headers", ())
    )
