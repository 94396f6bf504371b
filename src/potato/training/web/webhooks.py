"""Webhooks on the training page and in the API: what they were told lately, and a button to try one."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from potato.project import Project
from potato.project.webhooks import EVENTS
from potato.store import Connection
from potato.store.training import deliveries
from potato.training.web.answers import Json, errors
from potato.training.web.bodies import Body
from potato.training.web.service import supervisor_of
from potato.training.webhooks.hooks import hooks_of
from potato.web.auth import AdminDep
from potato.web.site import SiteDep

LATEST = 10
"""Deliveries that the page and the API show of each address."""

router = APIRouter(tags=["webhooks"])


class DeliveryBody(Body):
    """One event for one address."""

    id: str
    """The same at every attempt: what `X-Potato-Delivery` says."""
    event: str
    at: str
    state: str
    """`waiting`, `delivered` or `failed`."""
    attempts: int
    due: str
    """While it waits: when it is tried next."""
    status: int | None = None
    error: str | None = None
    finished_at: str | None = None


class WebhookBody(Body):
    """One address of the project file. What may be secret in the address is left out."""

    number: int
    address: str
    events: list[str]
    signed: bool
    waiting: int
    deliveries: list[DeliveryBody]


class Webhooks(Body):
    """The project's webhooks, in its order."""

    webhooks: list[WebhookBody]


class Tried(Body):
    """A test event is on its way."""

    delivery: str
    """Its id: look for it in `GET webhooks`."""


@router.get("/webhooks", response_model=Webhooks, responses=errors())
async def list_webhooks(site: SiteDep, admin: AdminDep) -> Response:
    """The project's webhooks, each with its newest deliveries."""
    return Json({"webhooks": await site.read(lambda connection: section(connection, site.project))})


@router.post("/webhooks/{number}/test", status_code=202, response_model=Tried, responses=errors(403, 404))
async def try_webhook(
    number: Annotated[int, Path(ge=1, le=10_000, description="Its place in the project file, from 1.")],
    site: SiteDep,
    admin: AdminDep,
) -> Response:
    """Send a test event to a webhook; it goes the way of every other."""
    return Json({"delivery": await run_in_threadpool(supervisor_of(site).try_webhook, number)}, status_code=202)


def section(connection: Connection, project: Project) -> list[dict[str, Any]]:
    """Each webhook with its newest deliveries."""
    return [
        {
            "number": hook.number,
            "address": hook.address,
            "events": [event for event in EVENTS if event in hook.events],
            "signed": hook.is_signed,
            "waiting": deliveries.counts(connection, hook.key).get(deliveries.Stage.WAITING.value, 0),
            "deliveries": [entry.as_json() for entry in deliveries.latest(connection, hook.key, LATEST)],
        }
        for hook in hooks_of(project)
    ]
