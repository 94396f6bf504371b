"""Publishing on the run's page and in the API: send a model to the Hugging Face Hub, and see what became of it."""

from __future__ import annotations

import importlib.util
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Connection
from potato.store.training import publications
from potato.store.training import runs as stored
from potato.store.training.runs import Run, State
from potato.training.publishing.model_files import model_files
from potato.training.web.answers import Json, RunId, errors
from potato.training.web.bodies import Body, Name, Request
from potato.training.web.service import supervisor_of
from potato.web.auth import AdminDep
from potato.web.site import SiteDep

router = APIRouter(tags=["publishing"])


class NewPublication(Request):
    """A model to publish."""

    repo: Annotated[str, Field(min_length=1, max_length=200)]
    """The repository on the Hub, as `ORG/NAME`; it is made where it does not exist."""
    public: bool = False
    """Whether everybody may see it."""
    scheme: Name | None = None
    """Whose model; needed where the run trained several schemes."""


class PublicationBody(Body):
    """One model on its way to the Hub, or there."""

    id: int
    run_id: str
    scheme: str
    repo: str
    public: bool
    state: str
    """`going`, `published` or `failed`."""
    step: str
    url: str | None = None
    revision: str | None = None
    """The commit on the Hub."""
    error: dict[str, Any] | None = None


class Publications(Body):
    """A run's publications, the newest first."""

    publications: list[PublicationBody]


@router.post(
    "/runs/{run_id}/publications",
    status_code=202,
    response_model=PublicationBody,
    responses=errors(403, 404, 409, 413),
)
async def publish(run_id: RunId, body: NewPublication, site: SiteDep, admin: AdminDep) -> Response:
    """Send a model of the run to the Hub, in the background. What this machine can tell is checked before the answer;
    account, repository and card are checked before anything is uploaded."""
    begin = supervisor_of(site).publish
    made = await run_in_threadpool(begin, run_id, body.repo, body.public, body.scheme, admin.name)
    return Json(made.as_json(), status_code=202)


@router.get("/runs/{run_id}/publications", response_model=Publications, responses=errors(404))
async def list_publications(run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """Where the run's models were sent, and what became of it."""

    def read(connection: Connection) -> list[dict[str, Any]]:
        stored.get_or_raise(connection, run_id)
        return [entry.as_json() for entry in publications.of_run(connection, run_id)]

    return Json({"publications": await site.read(read)})


def section(connection: Connection, run: Run, project: Project) -> dict[str, Any] | None:
    """What the run's page shows of publishing; None for a run that has no model."""
    entries = publications.of_run(connection, run.run_id)
    if run.state is not State.SUCCESS and not entries:
        return None
    refusal = _refusal(run, project)
    return {
        "publications": [entry.as_json() for entry in entries],
        "refusal": refusal,
        "installed": importlib.util.find_spec("huggingface_hub") is not None,
        "going": any(entry.state is publications.Stage.GOING for entry in entries),
    }


def _refusal(run: Run, project: Project) -> dict[str, str] | None:
    """Why none of the run's models can be published; None where one can."""
    refused: PotatoError | None = None
    for scheme in run.schemas:
        try:
            model_files(project, run, scheme)
        except PotatoError as error:
            refused = error
        else:
            return None
    return refused.as_json() if refused else None
