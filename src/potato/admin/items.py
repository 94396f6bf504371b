"""The items page: how far each item is, and what annotators said of it that is no answer."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from potato.store import item_progress
from potato.store.settling import State
from potato.web.auth import AdminDep
from potato.web.render import render
from potato.web.site import SiteDep

router = APIRouter(include_in_schema=False)

SHOWN = 100


@router.get("/admin/items", name="admin_items")
async def show_items(
    request: Request,
    site: SiteDep,
    _admin: AdminDep,
    show: Literal["all", "flagged", "skipped"] = "all",
    after: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
) -> Response:
    """Items in the order of the data files, with who has answered, holds, skipped or flagged each."""
    found = await site.read(lambda connection: item_progress.page(connection, show, after, SHOWN + 1))
    return render(
        request,
        "admin/items.html",
        here="items",
        show=show,
        found=found[:SHOWN],
        more=found[SHOWN - 1].seq if len(found) > SHOWN else None,
        state={state.value: state for state in State},
        target=site.project.config.annotations_per_item,
    )
