"""The page on which an adjudicator gives an answer of their own, as annotators give theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from potato.admin.adjudication import Case, Which, asked, case
from potato.annotate.view import Ask
from potato.project import Project
from potato.review.asking import ask_alone
from potato.schemes import Scheme
from potato.store import Connection, adjudications, items
from potato.store.items import ItemRow, UnknownItem
from potato.web.auth import AdminDep
from potato.web.media import Medium, medium_of, policy
from potato.web.render import render
from potato.web.site import SiteDep

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True)
class Deciding:
    """An item before its adjudicator: what annotators said of it, and the question, with what was decided so far."""

    item: ItemRow
    case: Case
    ask: Ask
    image: Medium | None
    audio: Medium | None
    policy: str


@router.get("/admin/adjudication/{seq:int}", name="own_answer")
async def show_question(
    request: Request,
    site: SiteDep,
    admin: AdminDep,
    seq: int,
    scheme: Annotated[str, Query(max_length=200)],
    show: Which = "open",
    after: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
) -> Response:
    """The question about one item. The answer goes where every decision goes, and then `show` and `after` are back."""
    question = asked(site, scheme)
    page = await site.read(lambda connection: _deciding(connection, site.project, admin.name, question, seq))
    headers = {"content-security-policy": page.policy}
    return render(
        request, "review/deciding.html", headers=headers, here="adjudication", page=page, show=show, after=after
    )


def _deciding(connection: Connection, project: Project, admin: str, scheme: Scheme, seq: int) -> Deciding:
    item = items.by_seq(connection, seq)
    if item is None:
        raise UnknownItem(str(seq))
    answered = adjudications.one(connection, scheme.name, seq)
    decided = None if answered.decided is None else answered.decided.value
    return Deciding(
        item,
        case(scheme, answered),
        ask_alone(project, item, admin, scheme, decided),
        image=medium_of(project, item, "image"),
        audio=medium_of(project, item, "audio"),
        policy=policy(connection),
    )
