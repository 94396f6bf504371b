"""Signing in and out, in whichever way the project says."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import JSONResponse, Response

from potato.errors import PotatoError
from potato.web.auth import check_origin, current_user, sign_in, user_of
from potato.web.errors import wants_page
from potato.web.login import enter
from potato.web.render import go, render
from potato.web.site import SiteDep

router = APIRouter(include_in_schema=False)

Field = Annotated[str, Form(max_length=2000)]


@router.get("/", name="home")
async def home(request: Request, site: SiteDep) -> Response:
    """The way in: the sign-in page, or straight on to the next item. A proxy's header needs no page."""
    if site.project.config.login.type == "header":
        return await _entered(request, {}, page=True)
    if user_of(request) is None:
        return render(request, "annotate/sign_in.html", problem=None)
    await current_user(request)  # a session that no longer holds gets the sign-in page, with its reason
    return go(request, "next_item")


@router.get("/enter", name="enter_by_link")
async def by_link(request: Request) -> Response:
    """Where a sign-in link leads. Its token follows the `#`, which no browser sends: the page's script posts it."""
    return render(request, "annotate/sign_in.html", problem=None)


@router.get("/sign-in")
async def sign_in_page(request: Request) -> Response:
    """A refused sign-in leaves this address in the browser: whoever opens it again is shown the way in."""
    return go(request, "home")


@router.post("/sign-in", name="sign_in")
async def post_sign_in(
    request: Request, site: SiteDep, name: Field = "", password: Field = "", link: Field = ""
) -> Response:
    """Sign in. A page goes on to the items; a script, which signs in again in place, gets the name."""
    check_origin(request, strict=False)
    given = {"name": name, "password": password, "link": link}
    page = wants_page(request)
    try:
        return await _entered(request, given, page=page)
    except PotatoError as problem:
        if not page or site.project.config.login.type == "header":
            raise
        shown = problem.message if problem.hint is None else f"{problem.message}. {problem.hint}"
        return render(request, "annotate/sign_in.html", status=problem.status, problem=shown, name=name)


@router.post("/sign-out", name="sign_out")
async def leave(request: Request, site: SiteDep) -> Response:
    """Sign out and show the way in."""
    check_origin(request, strict=False)
    response = go(request, "home")
    site.sessions.clear(response, "annotator")
    return response


async def _entered(request: Request, given: dict[str, str], *, page: bool) -> Response:
    user, stamp = await enter(request, given)
    response = go(request, "next_item") if page else JSONResponse({"name": user.name})
    sign_in(request, response, user, stamp)
    return response
