"""The API's routes for reviewing pre-labels: what waits, a verdict, and what a run's verdicts come to."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from potato.errors import PotatoError
from potato.project import Project
from potato.schemes import InvalidAnswer
from potato.store import Connection, items
from potato.store.training import predictions, verdicts
from potato.store.training import runs as stored
from potato.store.training.verdicts import Judgement, Order
from potato.store.users import check_name
from potato.training.runs.request import UnknownScheme
from potato.training.web import review_bodies, use
from potato.training.web.answers import Json, RunId, errors
from potato.web.auth import Admin, AdminDep, user_of
from potato.web.site import Site, SiteDep

router = APIRouter(tags=["reviews"])

MAX_ELAPSED_MS = 24 * 60 * 60 * 1000


class InvalidCorrection(PotatoError):
    """The answer of a correction is none that the scheme takes. Nothing was changed."""

    code = "invalid_answer"
    status = 400


@router.get("/reviews/queue", response_model=review_bodies.Queue, responses=errors())
async def get_review_queue(
    site: SiteDep,
    admin: AdminDep,
    scheme: Annotated[str, Query(max_length=200)],
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> Response:
    """The pre-labels of a scheme that wait for a verdict, the least confident first."""
    _require_scheme(site, scheme)
    return Json(await site.read(lambda connection: _queue(connection, site.project, scheme, limit)))


@router.post("/reviews", response_model=review_bodies.KeptVerdict, responses=errors(403, 404, 409, 413))
async def give_verdict(request: Request, body: review_bodies.NewVerdict, site: SiteDep, admin: AdminDep) -> Response:
    """Accept, correct or reject a pre-label. Accepting and correcting answer the item under the reviewer's name; an
    answer that they have given otherwise is never changed. The same verdict again changes nothing."""
    reviewer = reviewer_of(request, admin, body.reviewer)
    _require_scheme(site, body.scheme)
    given = _correction(site, body)
    now = site.clock()

    def write(connection: Connection) -> verdicts.Kept:
        item = items.by_id(connection, body.item)
        if item is None:
            raise items.UnknownItem(body.item)
        if given is not None:
            _check(site, body.scheme, given, item.text)
        order = Order(
            run_id=body.run_id,
            scheme=body.scheme,
            item=item.seq,
            judgement=Judgement(body.verdict),
            reviewer=reviewer,
            at=now,
            given=given,
            request_id=body.request_id,
            elapsed_ms=None if body.elapsed_ms is None else min(body.elapsed_ms, MAX_ELAPSED_MS),
        )
        return verdicts.give(connection, order, site.rules)

    kept = await site.write(write)
    answer = {"verdict": kept.judgement, "answer": kept.given, "reviewer": reviewer, "at": kept.at}
    return Json({"run_id": body.run_id, "scheme": body.scheme, "item": body.item, **answer, "repeated": kept.repeated})


@router.get("/runs/{run_id}/use", response_model=review_bodies.InUse, responses=errors(404))
async def get_use(run_id: RunId, site: SiteDep, admin: AdminDep) -> Response:
    """A run's pre-labels in use: their precision by the reviewers' verdicts, and how annotators answered with them and
    without them."""

    def read(connection: Connection) -> dict[str, Any]:
        run = stored.get_or_raise(connection, run_id)
        reviews, annotators = use.in_use(connection, run, site.project)
        return {"run_id": run_id, "reviews": reviews, "annotators": annotators}

    return Json(await site.read(read))


def reviewer_of(request: Request, admin: Admin, named: str | None = None) -> str:
    """Under whose name an answer goes: as the request names it, else the annotator who is signed in in the same
    browser, else the admin. Raises `InvalidName`."""
    if named is not None:
        return check_name(named)
    user = user_of(request) if admin.by_session else None
    return user.name if user else admin.name


def _require_scheme(site: Site, name: str) -> None:
    if name not in site.project.schemes:
        known = ", ".join(site.project.schemes)
        raise UnknownScheme(f"there is no scheme {name!r:.100}; the project has {known:.300}")


def _correction(site: Site, body: review_bodies.NewVerdict) -> Any:
    """The parsed answer of a correction; None for another verdict."""
    if body.verdict != "correct" or body.answer is None:
        return None
    try:
        return site.project.schemes[body.scheme].parse(body.answer)
    except InvalidAnswer as error:
        raise InvalidCorrection(error.message) from error


def _check(site: Site, scheme: str, answer: Any, text: str) -> None:
    try:
        site.project.schemes[scheme].check(answer, text)
    except InvalidAnswer as error:
        raise InvalidCorrection(error.message) from error


def _queue(connection: Connection, project: Project, scheme: str, limit: int) -> dict[str, Any]:
    run_id = predictions.live(connection).get(scheme)
    if run_id is None:
        return {"scheme": scheme, "run_id": None, "model_version": None, "waiting": [], "count": 0}
    run = stored.get_or_raise(connection, run_id)
    found = verdicts.queue(connection, run_id, scheme, project.schemes, limit)
    waiting = [_waiting(connection, entry) for entry in found]
    count = verdicts.count_waiting(connection, run_id, scheme)
    return {
        "scheme": scheme,
        "run_id": run_id,
        "model_version": run.model_version,
        "waiting": waiting,
        "count": count,
    }


def _waiting(connection: Connection, entry: verdicts.Waiting) -> dict[str, Any]:
    item = items.by_seq(connection, entry.item)
    assert item is not None  # a prediction's item is never deleted
    said = entry.suggestion
    return {"item": item.id, "text": item.text, "answer": said.payload, "confidence": said.confidence}
