"""The users page."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from potato.admin import accounts as actions
from potato.admin.accounts import Action, Change, Done
from potato.errors import PotatoError
from potato.store import accounts
from potato.web.auth import AdminDep
from potato.web.errors import wants_page
from potato.web.render import render, url
from potato.web.site import Site, SiteDep

router = APIRouter(include_in_schema=False)

SHOWN = 200


@router.get("/admin/users", name="admin_users")
async def show_users(request: Request, site: SiteDep, _admin: AdminDep, after: str = "") -> Response:
    """The annotators and the ways in that each has."""
    return await _page(request, site, after=after)


@router.post("/admin/users", name="change_user")
async def change_user(
    request: Request,
    site: SiteDep,
    _admin: AdminDep,
    name: Annotated[str, Form(max_length=1000)],
    action: Annotated[Action, Form()],
) -> Response:
    """Make an annotator, or give one a way in, or take it away; the page then shows what came of it."""
    try:
        change = await asyncio.to_thread(_change, name, action, site)
        done = await site.write(change)
    except PotatoError as problem:
        if not wants_page(request):
            raise
        return await _page(request, site, problem=problem)
    return await _page(request, site, done=done)


def _change(name: str, action: Action, site: Site) -> Change:
    if action == "add":
        return actions.add(name, site.clock())
    if action == "link":
        return actions.new_link(name, site.clock())
    if action == "password":
        return actions.new_password(name)
    if action == "revoke":
        return actions.revoke(name, site.clock())
    return actions.make_admin(name, action == "admin")


async def _page(
    request: Request, site: Site, *, after: str = "", done: Done | None = None, problem: PotatoError | None = None
) -> Response:
    found = await site.read(lambda connection: accounts.page(connection, after, SHOWN + 1))
    link = None
    if done is not None and done.is_link:
        link = f"{url(request, 'enter_by_link')}#{done.secret}"
    return render(
        request,
        "admin/users.html",
        status=200 if problem is None else problem.status,
        headers={"Cache-Control": "no-store"},
        here="users",
        people=found[:SHOWN],
        more=found[SHOWN - 1].name if len(found) > SHOWN else None,
        done=done,
        link=link,
        problem=problem,
    )
