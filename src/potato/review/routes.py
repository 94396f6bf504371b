"""The review page's addresses. Verdicts go to the training API, as any program's do."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from potato.items.media import Kind
from potato.review.view import review_page
from potato.store import items
from potato.store.items import UnknownItem
from potato.training.web.reviews import reviewer_of
from potato.web.auth import AdminDep
from potato.web.media import file_response, media_file
from potato.web.render import render
from potato.web.site import SiteDep

router = APIRouter(include_in_schema=False)

Number = Annotated[int | None, Query(ge=0, le=1 << 53)]


@router.get("/admin/review", name="review_page")
async def show_review(
    request: Request,
    site: SiteDep,
    admin: AdminDep,
    scheme: Annotated[str | None, Query(max_length=200)] = None,
    after: Number = None,
    item: Number = None,
) -> Response:
    """The least confident pre-label that waits for a verdict; the one past the item `after`; or that of `item`."""
    reviewer = reviewer_of(request, admin)
    page = await site.read(lambda connection: review_page(connection, site.project, reviewer, scheme, after, item))
    return render(request, "review/page.html", here="review", page=page, reviewer=reviewer)


@router.get("/admin/review/{seq:int}/media/{kind}", name="review_media")
async def media(request: Request, site: SiteDep, admin: AdminDep, seq: int, kind: Kind) -> Response:
    """An item's image or recording, where it is a file of the project's."""
    item = await site.read(lambda connection: items.by_seq(connection, seq))
    if item is None:
        raise UnknownItem(str(seq))
    file = await asyncio.to_thread(media_file, site.project, item, kind)
    return await asyncio.to_thread(file_response, request, file)
