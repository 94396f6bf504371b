"""The API's routes for judging a run: its learning curve, its held-out items, and how it compares with another run."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from potato.store import Connection
from potato.store.training import held_out
from potato.store.training import runs as stored
from potato.store.training.held_out import Which
from potato.training.runs.request import UnknownScheme
from potato.training.web import bodies
from potato.training.web.answers import Json, RunId, errors
from potato.training.web.service import supervisor_of
from potato.web.auth import AdminDep
from potato.web.site import Site, SiteDep

router = APIRouter(tags=["judging"])

Name = Annotated[str | None, Query(max_length=500)]


@router.post(
    "/runs/{run_id}/learning-curve",
    status_code=202,
    response_model=bodies.CurveAccepted,
    responses=errors(403, 404, 409),
)
async def start_curve(run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """Queue runs of the same trainer on 25, 50 and 75 % of this run's own training items, scored on the same held-out
    items. They are never shown to annotators. Points that are there, or wait, are not run twice."""
    trigger = "manual" if admin.by_session else "api"
    points = await run_in_threadpool(supervisor_of(site).submit_curve, run_id, trigger, admin.name)
    return Json({"curve_of": run_id, "runs": [point.run_id for point in points]}, status_code=202)


@router.get("/runs/{run_id}/held-out", response_model=bodies.HeldOutItems, responses=errors(404))
async def get_held_out(
    run_id: RunId,
    site: SiteDep,
    admin: AdminDep,
    scheme: Annotated[str, Query(max_length=200)],
    human: Name = None,
    model: Name = None,
    wrong: bool = False,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
) -> Response:
    """The test items that a scheme's score was made of, with both answers; those first that the model was surest of (of
    schemes of numbers: that it missed by most). `human` and `model` ask for a cell of the confusion matrix, `wrong`
    for the items that the model got wrong."""
    which = Which(run_id, scheme, human, model, wrong)
    return Json(await site.read(lambda connection: listing(connection, site, which, limit, offset)))


@router.get("/runs/{run_id}/comparison", response_model=bodies.Compared, responses=errors(404, 409))
async def get_comparison(
    run_id: RunId, site: SiteDep, admin: AdminDep, other: Annotated[str, Query(alias="with", max_length=200)]
) -> Response:
    """This run (`one`) and another (`other`) on the test items that were held out from both, by scheme: both first
    figures, their difference with its 95 % interval, and the items that they answer differently."""
    return Json({"one": run_id, "other": other, "schemas": await comparison(site, run_id, other)})


async def comparison(site: Site, one: str, other: str) -> dict[str, Any]:
    """Both runs compared, by scheme, in the child process. Raises `UnknownRun` and `NotComparable`."""
    await site.read(lambda connection: [stored.get_or_raise(connection, run_id) for run_id in (one, other)])
    compared: dict[str, Any] = await asyncio.wrap_future(
        site.tasks.run("training.compare", {"one": one, "other": other})
    )
    return compared


def listing(connection: Connection, site: Site, which: Which, limit: int, offset: int) -> dict[str, Any]:
    """Those held-out items in the API's shape. Raises `UnknownRun` and `UnknownScheme`."""
    run = stored.get_or_raise(connection, which.run_id)
    if which.scheme not in run.schemas:
        raise UnknownScheme(f"run {run.run_id} has no scheme {which.scheme!r:.100}; it has {', '.join(run.schemas)}")
    kind = (run.scores.get(which.scheme) or {}).get("kind")
    rows = held_out.page(connection, which, limit + 1, offset, by_distance=kind in ("ordinal", "continuous"))
    return {
        "run_id": run.run_id,
        "scheme": which.scheme,
        "count": held_out.count(connection, which),
        "items": [row._asdict() for row in rows[:limit]],
        "next": offset + limit if len(rows) > limit else None,
    }
