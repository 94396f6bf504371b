"""The annotators' addresses."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from potato.annotate.guidelines import guidelines_html
from potato.annotate.pages import item_page, media_of_item
from potato.annotate.parts import NO_ITEM, counts, part, title, wants_part
from potato.annotate.saving import FlagBody, ItemNotYours, SaveBody, SkipBody, require_same, save
from potato.annotate.view import ItemPage
from potato.items.media import Kind
from potato.store import Connection, assignments
from potato.store.assignments import Progress
from potato.web.auth import User, UserDep, current_user, verified_admin
from potato.web.errors import body_of
from potato.web.media import file_response
from potato.web.render import go, render, url
from potato.web.site import Site, SiteDep, site_of

router = APIRouter(include_in_schema=False)


@router.post("/annotate/{seq:int}/answers", name="save_answers")
async def save_answers(request: Request) -> Response:
    """Save answers. The reply is sent once they are on disk; the same request again gets the same reply.

    With `next`, the reply brings the item that follows, where this one is done.
    """
    site, user, questions = site_of(request), await current_user(request), request.app.state.questions
    body = await body_of(request, SaveBody)

    def look(connection: Connection, item: int) -> ItemPage:
        return item_page(connection, site, user, item, questions.keys)[0]

    saved, progress, following = await save(site, user, request.path_params["seq"], body, look)
    reply = {
        "saved_at": saved.at,
        "repeated": saved.repeated,
        "item_done": saved.item_done,
        "progress": counts(progress),
        "next": None if following is None else part(request, user, following),
    }
    return JSONResponse(reply)


@router.get("/annotate/{seq:int}", name="item")
async def item(request: Request, site: SiteDep, user: UserDep, seq: int) -> Response:
    """One item with its questions and what the annotator answered so far."""
    page, progress = await _page(request, site, user, seq)
    if wants_part(request):
        return JSONResponse({**part(request, user, page), "progress": counts(progress)})
    return render(
        request,
        "annotate/item.html",
        headers={"content-security-policy": page.policy},
        user=user,
        page=page,
        progress=progress,
        title=title(request, page),
        question=request.app.state.questions.html,
        guide=await asyncio.to_thread(guidelines_html, site.project),
    )


@router.get("/annotate", name="next_item")
async def next_item(request: Request, site: SiteDep, user: UserDep) -> Response:
    """Give out an item and go there; when nothing is left, say why."""
    given = await site.write(lambda connection: assignments.next_item(connection, user.id, site.clock(), site.rules))
    if isinstance(given, int):
        return await _gone_to(request, site, user, given)
    if wants_part(request):
        return JSONResponse(NO_ITEM)
    progress = await site.read(lambda connection: assignments.progress(connection, user.id))
    return render(request, "annotate/nothing_left.html", user=user, progress=progress, reason=given.sentence)


@router.get("/annotate/last", name="last_item")
async def last_item(request: Request, site: SiteDep, user: UserDep) -> Response:
    """The item that the annotator met last."""
    last = await site.read(lambda connection: assignments.neighbour(connection, user.id, None, "back"))
    return await (next_item(request, site, user) if last is None else _gone_to(request, site, user, last))


@router.get("/annotate/{seq:int}/back", name="back")
async def back(request: Request, site: SiteDep, user: UserDep, seq: int) -> Response:
    """The item that the annotator had before this one; this one again at the beginning."""
    before = await site.read(lambda connection: assignments.neighbour(connection, user.id, seq, "back"))
    return await _gone_to(request, site, user, seq if before is None else before)


@router.get("/annotate/{seq:int}/forth", name="forth")
async def forth(request: Request, site: SiteDep, user: UserDep, seq: int) -> Response:
    """The item that the annotator had after this one; a new one at the end."""
    after = await site.read(lambda connection: assignments.neighbour(connection, user.id, seq, "forth"))
    if after is not None:
        return await _gone_to(request, site, user, after)
    return await next_item(request, site, user) if wants_part(request) else go(request, "next_item")


@router.post("/annotate/{seq:int}/skip", name="skip")
async def skip(request: Request, site: SiteDep, user: UserDep, seq: int, body: SkipBody) -> dict[str, Any]:
    """Pass an item over, with a reason."""
    require_same(body.annotator, user)

    def write(connection: Connection) -> None:
        if not assignments.was_given(connection, user.id, seq):
            raise ItemNotYours(seq)
        assignments.skip(connection, user.id, seq, body.reason.strip() or None, site.clock(), site.rules)

    await site.write(write)
    return {"skipped": True, "next": url(request, "next_item")}


@router.post("/annotate/{seq:int}/flag", name="flag")
async def flag(site: SiteDep, user: UserDep, seq: int, body: FlagBody) -> dict[str, Any]:
    """Flag an item for whoever runs the project, or take the flag off."""
    require_same(body.annotator, user)

    def write(connection: Connection) -> None:
        if not assignments.was_given(connection, user.id, seq):
            raise ItemNotYours(seq)
        assignments.flag(connection, user.id, seq, None if body.reason is None else body.reason.strip())

    await site.write(write)
    return {"flagged": body.reason is not None}


@router.get("/annotate/{seq:int}/media/{kind}", name="media")
async def media(request: Request, site: SiteDep, seq: int, kind: Kind) -> Response:
    """An item's image or recording, where it is a file of the project's: for whoever was given the item, and admins."""
    user = None if await verified_admin(request) else await current_user(request)
    file = await site.read(lambda connection: media_of_item(connection, site, user, seq, kind))
    return await asyncio.to_thread(file_response, request, file)


async def _gone_to(request: Request, site: Site, user: User, seq: int) -> Response:
    """The item for the page's script; a browser is sent to its page."""
    return await item(request, site, user, seq) if wants_part(request) else go(request, "item", seq=seq)


async def _page(request: Request, site: Site, user: User, seq: int) -> tuple[ItemPage, Progress]:
    keys = request.app.state.questions.keys
    return await site.read(lambda connection: item_page(connection, site, user, seq, keys))
