"""Automatic retraining and the models that took over: the API's routes, and what the training page shows of it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from potato.project import Project
from potato.store import Connection
from potato.store.training import retraining
from potato.training.retraining.decision import look, waits
from potato.training.runs.model import as_json
from potato.training.web import bodies, retraining_bodies
from potato.training.web.answers import Json, RunId, errors
from potato.training.web.service import supervisor_of
from potato.web.auth import AdminDep
from potato.web.site import SiteDep

router = APIRouter(tags=["retraining"])


@router.get("/retraining", response_model=retraining_bodies.Retraining, responses=errors())
async def get_retraining(site: SiteDep, admin: AdminDep) -> Response:
    """What automatic retraining waits for now, and the log of what it decided and which models took over."""
    return Json(await site.read(lambda connection: status(connection, site.project, site.clock())))


@router.post("/runs/{run_id}/show", response_model=bodies.RunBody, responses=errors(403, 404, 409))
async def show_run(run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """Show a run's suggestions to annotators although its score was refused, or again in place of a later run's. Who
    did it is recorded."""
    return Json(as_json(await run_in_threadpool(supervisor_of(site).show, run_id, admin.name)))


def status(connection: Connection, project: Project, now: datetime) -> dict[str, Any]:
    """In the API's shape."""
    training = project.config.model_training
    settings = training.auto_retrain
    situation = look(connection, project, now)
    return {
        "enabled": settings.enabled,
        "trainer": settings.trainer,
        "schemas": list(settings.schemas),
        "backend": settings.backend or training.backend,
        "update_frequency": settings.update_frequency,
        "min_interval_s": settings.min_interval_s,
        "changed": situation.changed,
        "waits": [{"code": wait.code, "sentence": wait.sentence} for wait in waits(settings, situation)],
        "last_run": situation.last.run_id if situation.last else None,
        "refused": situation.refused,
        "decisions": [vars(decision) for decision in retraining.decided(connection)],
    }
