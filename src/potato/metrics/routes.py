"""The route, and who may read it."""

from __future__ import annotations

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from potato.errors import PotatoError
from potato.metrics.families import Scraped
from potato.metrics.requests import Requests
from potato.store.figures import figures
from potato.training.webhooks.hooks import hooks_of
from potato.web.auth import is_key, verified_admin
from potato.web.site import Site, SiteDep

router = APIRouter(include_in_schema=False)


class NotForYou(PotatoError):
    """The request carries no key to the metrics."""

    code = "not_admin"
    status = 401

    def __init__(self) -> None:
        super().__init__(
            "The metrics need a key",
            hint="send `metrics_token` of the project file as `Authorization: Bearer TOKEN`, or the admin key",
        )


class Meter:
    """What one server measures of itself."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Requests(self.registry)
        ProcessCollector(registry=self.registry)


@router.get("/metrics")
async def metrics(request: Request, site: SiteDep) -> Response:
    """The figures in Prometheus' text format."""
    await _check(request, site)
    hooks = {hook.key: hook.number for hook in hooks_of(site.project)}
    found = await site.read(lambda connection: figures(connection, list(hooks)))
    meter: Meter = request.app.state.meter
    scraped = CollectorRegistry()
    scraped.register(Scraped(found, hooks, site.clock(), site.supervises))
    body = generate_latest(meter.registry) + generate_latest(scraped)
    return Response(body, media_type=CONTENT_TYPE_LATEST)


async def _check(request: Request, site: Site) -> None:
    """Raise `NotForYou`, `WrongAdminKey` or `TooManyAttempts`, unless the request carries the admin's right or the
    metrics' token."""
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        token = site.project.config.metrics_token
        if is_key(request, given.strip(), token.get_secret_value() if token else None, site.admin_key):
            return
        raise NotForYou
    if await verified_admin(request) is None:
        raise NotForYou
