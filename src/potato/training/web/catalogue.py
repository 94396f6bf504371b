"""The API's routes for what there is: backends, trainers, schemes, and what is going on."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from potato.training.runs.request import UnknownTrainer
from potato.training.trainers import registry
from potato.training.web import bodies, stream
from potato.training.web.answers import Json, errors
from potato.training.web.listings import scheme_list, trainer_list
from potato.training.web.service import supervisor_of
from potato.training.web.status import status
from potato.training.web.views import backend_list
from potato.web.auth import AdminDep
from potato.web.site import SiteDep

router = APIRouter(tags=["catalogue"])


@router.get("/backends", response_model=bodies.Backends, responses=errors())
async def list_backends(site: SiteDep, admin: AdminDep) -> Response:
    """Where runs execute, the default first."""
    backends = await site.read(lambda connection: backend_list(connection, site.project, site.clock()))
    entries = [
        {
            "name": backend.name,
            "type": backend.type,
            "host": backend.host,
            "label": backend.label,
            "description": backend.description,
            "default": backend.is_default,
        }
        for backend in backends
    ]
    return Json({"backends": entries})


@router.post("/backends/{name}/check", response_model=bodies.CheckBody, responses=errors(403, 409, 413))
async def check_backend(
    name: Annotated[str, Path(max_length=200)],
    site: SiteDep,
    admin: AdminDep,
    body: bodies.CheckRequest | None = None,
) -> Response:
    """Could a run start there now? Takes some seconds; starts nothing."""
    trainer = body.trainer if body else None
    if trainer is not None:
        _require_trainer(trainer)
    report = await run_in_threadpool(supervisor_of(site).check, name, trainer)
    return Json(report.as_json())


@router.get("/trainers", response_model=bodies.Trainers, responses=errors())
async def list_trainers(site: SiteDep, admin: AdminDep) -> Response:
    """Every trainer with its params; no training library is imported for it."""
    return Json({"trainers": await run_in_threadpool(trainer_list, site.project)})


@router.get("/schemas", response_model=bodies.Schemes, responses=errors())
async def list_schemas(site: SiteDep, admin: AdminDep) -> Response:
    """The project's schemes, how much of each is labelled, and whose pre-labels are shown."""
    return Json({"schemas": await site.read(lambda connection: scheme_list(connection, site.project))})


@router.get("/status", response_model=bodies.Status, responses=errors())
async def get_status(site: SiteDep, admin: AdminDep) -> Response:
    """The run that executes, and those that wait."""
    return Json(await site.read(status))


@router.get(
    "/stream",
    response_class=Response,
    responses={200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}, **errors()},
)
async def get_status_stream(site: SiteDep, admin: AdminDep) -> Response:
    """Server-sent events: `status`, whenever it changes."""
    return stream.response(stream.follow_status(site))


def _require_trainer(name: str) -> None:
    """Raise `UnknownTrainer` where no trainer of that name is installed."""
    try:
        registry.get(name)
    except registry.UnknownTrainer as error:
        raise UnknownTrainer(str(error)) from error
