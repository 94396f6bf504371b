"""The agents' API: what the program on a training machine may ask, with its token, of its own backend's runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from potato.store import Connection
from potato.store.clock import to_text
from potato.store.training import agents
from potato.store.training import runs as stored
from potato.store.training.runs import GOING
from potato.training.agents import answers, bodies
from potato.training.agents.answers import PREFIX as PREFIX
from potato.training.agents.desk import AgentId, Assignment, Desk
from potato.training.agents.errors import NotYourRun, RunIsOver, TokenNotTaken
from potato.training.runs.folder import RunFolder
from potato.training.web.answers import Json, errors
from potato.training.web.service import supervisor_of
from potato.web.site import Site, SiteDep

SEEN_EVERY_S = 5.0
"""How often an agent's last word is written down."""
LISTENS_S = 1.0
"""How often a waiting claim looks whether somebody waits for its answer."""

router = APIRouter(tags=["agents"])

RunId = Annotated[str, Path(description="The run's id, of the claim's answer.", max_length=200)]
Attempt = Annotated[int, Query(ge=1, le=1 << 31, description="The attempt, of the claim's answer.")]
Offset = Annotated[int, Query(ge=0, le=1 << 53, description="Where the piece belongs.")]


async def backend_of_token(request: Request, site: SiteDep) -> str:
    """The backend that the request's token is for. Raises `TokenNotTaken`."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token:
        raise TokenNotTaken
    backend = await site.read(lambda connection: agents.backend_of(connection, token.strip()))
    if backend is None or backend not in supervisor_of(site).agent_backends():
        raise TokenNotTaken
    return backend


BackendDep = Annotated[str, Depends(backend_of_token)]
"""The backend whose agent asks."""


@router.post("/claim", response_model=bodies.ClaimAnswer, responses=errors(404, 409))
async def claim(request: Request, body: bodies.ClaimRequest, site: SiteDep, backend: BackendDep) -> Response:
    """Wait for a job, at most `wait_s`. Asking again is harmless: the same agent gets the same attempt."""
    agent = answers.introduced(body)
    if body.backend != backend:
        raise TokenNotTaken
    if body.leaving:
        return Json(answers.job(_desk(site).leave(backend, agent), 1.0))
    job = await _await_job(request, site, backend, agent, body.wait_s)
    return Json(answers.job(job, 0.0 if body.wait_s else 1.0))


@router.get("/runs/{run_id}/bundle", response_class=Response, responses={206: {}, **errors(404, 409)})
async def get_bundle(run_id: RunId, attempt: Attempt, site: SiteDep, backend: BackendDep) -> Response:
    """The bundle as `tar.gz`; takes `Range`."""
    await _hear(site, backend, run_id, attempt)
    return FileResponse(RunFolder.of(site.project, run_id).archive, media_type="application/gzip")


@router.put("/runs/{run_id}/files/{name}", response_model=bodies.Length, responses=errors(404, 409, 413, 507))
async def put_piece(
    request: Request,
    run_id: RunId,
    name: Annotated[str, Path(max_length=100, description="`events.jsonl`, `stderr.log`, `predictions.jsonl`.")],
    attempt: Attempt,
    offset: Offset,
    site: SiteDep,
    backend: BackendDep,
) -> Response:
    """Append a piece of a file at `offset`. A piece that is here already changes nothing; one past the end is refused
    with the `length` to go on from."""
    assignment = await _hear(site, backend, run_id, attempt)
    data = await request.body()
    try:
        return Json(await run_in_threadpool(answers.piece, assignment, name, offset, data))
    finally:
        supervisor_of(site).wake()


@router.post("/runs/{run_id}/report", response_model=bodies.ReportAnswer, responses=errors(404, 409))
async def report(run_id: RunId, body: bodies.Report, site: SiteDep, backend: BackendDep) -> Response:
    """A heartbeat; the answer says whether to cancel."""
    assignment = await _hear(site, backend, run_id, body.attempt)
    await _note(site, backend, assignment.agent.host)
    return Json(await run_in_threadpool(answers.report, assignment, body))


@router.post("/runs/{run_id}/result", response_model=bodies.Taken, responses=errors(404, 409, 507))
async def result(run_id: RunId, body: bodies.Result, site: SiteDep, backend: BackendDep) -> Response:
    """How the job ended. Answered once every declared file is here whole; safe to repeat."""
    if await _taken_before(site, backend, run_id, body.attempt):
        return Json(answers.taken())
    try:
        assignment = await _hear(site, backend, run_id, body.attempt)
        answer = await run_in_threadpool(answers.result, assignment, body)
    except RunIsOver:
        if not await _taken_before(site, backend, run_id, body.attempt):
            raise
        answer = answers.taken()  # its twin was, just now
    supervisor_of(site).wake()
    return Json(answer)


async def _taken_before(site: Site, backend: str, run_id: str, attempt: int) -> bool:
    """Whether this attempt's end record is here already, from a request whose answer was lost."""

    def look(connection: Connection) -> bool:
        run = stored.get(connection, run_id)
        if run is None or run.backend != backend:
            raise NotYourRun
        return answers.was_taken(RunFolder.of(site.project, run_id).path, attempt)

    return await site.read(look)


async def _await_job(
    request: Request, site: Site, backend: str, agent: AgentId, wait_s: float
) -> Mapping[str, Any] | None:
    topic, began = f"backend:{backend}", time.monotonic()
    while True:
        supervisor = supervisor_of(site)  # another one, where this server was elected anew meanwhile
        seen = site.notifier.version(topic)
        supervisor.desk.ask(backend, agent, supervisor.agent_backends()[backend].heartbeat_timeout_s, began)
        await _note(site, backend, agent.host)
        offer = supervisor.desk.offer(backend, agent)
        if offer is not None:
            return offer
        supervisor.wake()
        await _wait_for_news(request, site, topic, seen, began + wait_s)
        if await request.is_disconnected():
            supervisor.desk.hung_up(backend, began)
            return None
        if time.monotonic() >= began + wait_s or site.leaves:
            return None


async def _wait_for_news(request: Request, site: Site, topic: str, seen: int, end: float) -> None:
    """Wait until the topic has news, until `end`, or until nobody waits for the answer any more."""
    while (left := end - time.monotonic()) > 0 and not site.leaves and not await request.is_disconnected():
        if await site.notifier.wait(topic, seen, min(left, LISTENS_S)) > seen:
            return


async def _hear(site: Site, backend: str, run_id: str, attempt: int) -> Assignment:
    """A word of an attempt; the assignment that it belongs to."""
    run = await site.read(lambda connection: stored.get(connection, run_id))
    if run is None or run.backend != backend:
        raise NotYourRun
    if run.is_finished:
        raise RunIsOver(run_id)
    return _desk(site).hear(backend, run_id, attempt, lambda: run.state in GOING)


async def _note(site: Site, backend: str, host: str) -> None:
    """Write down that the agent was heard, now and then."""
    if _desk(site).due(backend, SEEN_EVERY_S):
        await site.write(lambda connection: agents.see(connection, backend, host, to_text(site.clock())))


def _desk(site: Site) -> Desk:
    return supervisor_of(site).desk
