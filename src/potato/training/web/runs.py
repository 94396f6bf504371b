"""The API's routes for runs: start one, list them, look at one, cancel it, take its pre-labels back."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from potato.store import Connection
from potato.store.training import runs as stored
from potato.training.runs.folder import RunFolder
from potato.training.runs.model import as_json
from potato.training.runs.request import RunRequest
from potato.training.web import bodies, stream
from potato.training.web.answers import Json, RunId, errors
from potato.training.web.journal import CurveReader, read_piece
from potato.training.web.journal import as_json as event_json
from potato.training.web.service import supervisor_of
from potato.web.auth import AdminDep
from potato.web.site import Site, SiteDep

router = APIRouter(tags=["runs"])

Offset = Annotated[int, Query(ge=0, le=1 << 53)]


@router.post("/runs", status_code=202, response_model=bodies.Accepted, responses=errors(403, 409, 413))
async def start_run(body: bodies.NewRun, site: SiteDep, admin: AdminDep) -> Response:
    """Put a run into the queue. Where anything is wrong with the request, nothing is started."""
    request = RunRequest(
        trainer=body.trainer,
        schemas=body.schemas,
        backend=body.backend,
        params=body.params,
        trigger="manual" if admin.by_session else "api",
        started_by=admin.name,
    )
    run = await run_in_threadpool(supervisor_of(site).submit, request)
    return Json({"run_id": run.run_id, "state": run.state.value}, status_code=202)


@router.get("/runs", response_model=bodies.Runs, responses=errors(404))
async def list_runs(
    site: SiteDep,
    admin: AdminDep,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    before: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The runs, newest first, a page at a time."""
    found = await site.read(lambda connection: stored.page(connection, limit + 1, before))
    more = len(found) > limit
    return Json({"runs": [as_json(run) for run in found[:limit]], "next": found[limit - 1].run_id if more else None})


@router.get("/runs/{run_id}", response_model=bodies.RunBody, responses=errors(404))
async def get_run(run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """One run, whole."""
    run = await site.read(lambda connection: stored.get_or_raise(connection, run_id))
    return Json(as_json(run))


@router.get("/runs/{run_id}/events", response_model=bodies.Events, responses=errors(404))
async def get_events(
    run_id: RunId,
    site: SiteDep,
    admin: AdminDep,
    after: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 500,
) -> Response:
    """The run's events past the journal's byte offset `after`, oldest first."""

    def read(connection: Connection) -> dict[str, Any]:
        piece = read_piece(_folder(connection, site, run_id).events, after, limit)
        events = [event_json(offset, event) for offset, event in piece.events]
        return {"events": events, "next": piece.next, "more": piece.more}

    return Json(await site.read(read))


@router.get(
    "/runs/{run_id}/stream",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}, **errors(404)},
)
async def get_stream(
    run_id: RunId,
    site: SiteDep,
    admin: AdminDep,
    after: Offset = 0,
    log_after: Annotated[int, Query(ge=-1, le=1 << 53)] = -1,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> Response:
    """Server-sent events until the run has ended: `run`, `event` (its id is the journal's offset), `log`, `end`.

    `log_after` is the log's byte offset to go on from; -1 leaves the log out. A reader that comes back with
    `Last-Event-ID` goes on from there.
    """
    await site.read(lambda connection: stored.get_or_raise(connection, run_id))
    if last_event_id and last_event_id.isascii() and last_event_id.isdigit():
        after = min(int(last_event_id), 1 << 53)
    return stream.response(stream.follow_run(site, run_id, stream.Place(after, log_after)))


@router.get("/runs/{run_id}/curves", response_model=bodies.Curves, responses=errors(404))
async def get_curves(request: Request, run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """Every metric of the run over its steps so far."""
    reader = _curve_reader(request)
    curves, offset = await site.read(lambda connection: reader.read(_folder(connection, site, run_id).events))
    return Json({"curves": curves, "next": offset})


@router.post("/runs/{run_id}/cancel", response_model=bodies.RunBody, responses=errors(403, 404, 409))
async def cancel_run(run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """Stop a run, or take it out of the queue. It ends `cancelled` within `grace_seconds`."""
    return Json(as_json(await run_in_threadpool(supervisor_of(site).cancel, run_id)))


@router.post("/runs/{run_id}/copy", status_code=202, response_model=bodies.RunBody, responses=errors(403, 404, 409))
async def copy_model(run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """Copy the run's model home again, where the copy broke off; the run's `step` tells how far it is."""
    return Json(as_json(await run_in_threadpool(supervisor_of(site).copy_again, run_id)), status_code=202)


@router.delete("/runs/{run_id}/predictions", response_model=bodies.Withdrawn, responses=errors(403, 404, 409))
async def withdraw_predictions(run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """Take the run's pre-labels back: annotators no longer see them. Human labels stay as they are."""
    withdrawn = await run_in_threadpool(supervisor_of(site).withdraw, run_id)
    return Json({"run_id": run_id, "withdrawn": withdrawn})


def _folder(connection: Connection, site: Site, run_id: str) -> RunFolder:
    stored.get_or_raise(connection, run_id)  # an id that the store knows is safe as the name of a folder
    return RunFolder.of(site.project, run_id)


def _curve_reader(request: Request) -> CurveReader:
    """The server's one reader of curves, made when it is first asked for."""
    state = request.app.state
    if not hasattr(state, "curve_reader"):
        state.curve_reader = CurveReader()
    reader: CurveReader = state.curve_reader
    return reader
