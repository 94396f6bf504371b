"""The review page's addresses. Verdicts go to the training API, as any program's do."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from potato.review.view import review_page
from potato.training.web.reviews import reviewer_of
from potato.web.auth import AdminDep
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
    headers = {"content-security-policy": page.policy}
    return render(request, "review/page.html", headers=headers, here="review", page=page, reviewer=reviewer)
