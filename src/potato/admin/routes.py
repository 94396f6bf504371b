"""The admin's addresses, those of training aside."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from potato.admin.adjudication import router as adjudication_router
from potato.admin.exporting import DOWNLOADS
from potato.admin.exporting import router as export_router
from potato.admin.item import ItemView, item_view
from potato.admin.items import router as items_router
from potato.admin.measuring import AgreementGauge
from potato.admin.overview import overview
from potato.admin.users import router as users_router
from potato.errors import PotatoError
from potato.store import Connection, items
from potato.store.items import UnknownItem
from potato.store.users import clean_name
from potato.web.auth import AdminDep, check_key, check_origin, sign_in_account, sign_in_admin, verified_admin
from potato.web.errors import wants_page
from potato.web.login import check_password
from potato.web.media import policy
from potato.web.render import go, render
from potato.web.site import SiteDep

router = APIRouter(include_in_schema=False)
router.include_router(users_router)
router.include_router(adjudication_router)
router.include_router(export_router)
router.include_router(items_router)

ANNOTATORS_SHOWN = 500

_PAGE = re.compile(r"/admin(/[A-Za-z0-9_-]+)+")

Field = Annotated[str, Form(max_length=1000)]


@router.get("/admin", name="admin_overview")
async def show_overview(request: Request, site: SiteDep, after: str = "") -> Response:
    """How the project stands; without admin rights, the way in."""
    if await verified_admin(request) is None:
        return render(request, "admin/sign_in.html", problem=None)
    shown = await site.read(lambda connection: overview(connection, site.project, after, ANNOTATORS_SHOWN))
    return render(request, "admin/overview.html", here="overview", overview=shown, formats=DOWNLOADS)


@router.get("/admin/agreement", name="admin_agreement")
async def show_agreement(request: Request, site: SiteDep, _admin: AdminDep) -> Response:
    """The overview's table of agreement, which takes longer than a page may."""
    state = request.app.state
    if not hasattr(state, "agreement"):
        state.agreement = AgreementGauge()
    measured = await state.agreement.read(site)
    return render(request, "admin/agreement.html", measured=measured)


@router.get("/admin/item", name="admin_item_by_id")
async def find_item(request: Request, site: SiteDep, _admin: AdminDep, id: Annotated[str, Query()]) -> Response:
    """To the page of the item with that id."""
    item = await site.read(lambda connection: items.by_id(connection, id))
    if item is None:
        raise UnknownItem(id)
    return go(request, "admin_item", seq=item.seq)


@router.get("/admin/items/{seq:int}", name="admin_item")
async def show_item(request: Request, site: SiteDep, _admin: AdminDep, seq: int) -> Response:
    """One item: its text, what people answered, what models said."""

    def look(connection: Connection) -> tuple[ItemView, str]:
        return item_view(connection, site.project, seq), policy(connection)

    view, allowed = await site.read(look)
    headers = {"content-security-policy": allowed}  # the item's image may lie elsewhere
    return render(request, "admin/item.html", headers=headers, here="items", view=view)


@router.get("/admin/sign-in")
async def sign_in_page(request: Request) -> Response:
    """A refused sign-in leaves this address in the browser: whoever opens it again is shown the way in."""
    return go(request, "admin_overview")


@router.post("/admin/sign-in", name="admin_sign_in")
async def enter(
    request: Request, site: SiteDep, key: Field = "", name: Field = "", password: Field = "", page: Field = ""
) -> Response:
    """Take the admin key, or an admin's name and password, and open a session. `page` was asked for without it."""
    check_origin(request, strict=False)
    response = _onwards(request, page) if wants_page(request) else JSONResponse({"admin": True})
    try:
        if name:
            sign_in_account(request, response, await check_password(request, clean_name(name), password))
        else:
            check_key(request, key.strip())
            sign_in_admin(request, response)
    except PotatoError as wrong:
        if not wants_page(request):
            raise
        place = "name" if name else "key"
        said = wrong.message
        return render(request, "admin/sign_in.html", status=wrong.status, problem=said, place=place, page=page)
    return response


def _onwards(request: Request, page: str) -> Response:
    """To the admin's page that was asked for; nothing else is taken for one."""
    if _PAGE.fullmatch(page):
        return RedirectResponse(page.removeprefix("/admin/"), status_code=303)
    return go(request, "admin_overview")


@router.post("/admin/sign-out", name="admin_sign_out")
async def leave(request: Request, site: SiteDep) -> Response:
    """End the admin session."""
    check_origin(request, strict=False)
    response = go(request, "admin_overview")
    site.sessions.clear(response, "admin")
    site.sessions.clear(response, "account")
    return response
