"""The training page and the run page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse

from potato.store import Connection
from potato.store.training import predictions
from potato.store.training import runs as stored
from potato.training.runs.showing import can_show
from potato.training.web import curve, decisions, judging_pages, publishing, retraining, use, views, webhooks
from potato.training.web.answers import RunId
from potato.web.auth import AdminDep
from potato.web.render import render, url
from potato.web.site import SiteDep

router = APIRouter()


@router.get("", name="training_page")
async def training_page(request: Request, site: SiteDep, admin: AdminDep, before: str | None = None) -> HTMLResponse:
    """Where runs are started, watched and compared. `before` asks for the runs older than one."""

    def look(connection: Connection) -> dict[str, Any]:
        shown = views.training_page(connection, site.project, site.clock(), before)
        shown["retraining"] = retraining.status(connection, site.project, site.clock())
        return {**shown, "webhooks": webhooks.section(connection, site.project)}

    context = await site.read(look)
    return render(
        request,
        "training/page.html",
        here="training",
        api=_api(request),
        run_link=_link(request),
        **context,
    )


@router.get("/runs/{run_id}", name="training_run")
async def run_page(request: Request, run_id: RunId, site: SiteDep, admin: AdminDep) -> HTMLResponse:
    """All that is known of one run."""

    def look(connection: Connection) -> dict[str, Any]:
        run = stored.get_or_raise(connection, run_id)
        used = use.section(connection, run, site.project)
        judged = {
            "wrong": judging_pages.wrong_items(connection, run, site.project),
            "curve": curve.section(connection, run),
            "others": judging_pages.others(connection, run),
            "decided": decisions.section(connection, run),
        }
        beside = {**judged, "use": used, "publishing": publishing.section(connection, run, site.project)}
        shown = bool(can_show(run, site.project)) and predictions.has_any(connection, run_id)
        return {**views.run_page(run, site.project, site.clock()), **beside, "can_show": shown}

    context = await site.read(look)
    return render(request, "training/run.html", here="training", api=_api(request), run_link=_link(request), **context)


def _link(request: Request) -> Callable[[str], str]:
    """Run id → the address of its page. A page has hundreds of them, and looking for the route takes long."""
    some = url(request, "training_run", run_id="-")
    return lambda run_id: some[:-1] + quote(run_id)


def _api(request: Request) -> str:
    """The API's address as seen from the page, with its closing slash."""
    return url(request, "list_runs").removesuffix("runs")
