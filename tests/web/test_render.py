"""Addresses that hold under any prefix, and how values are written."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

import site_scenes as scenes
from potato.app import create_app
from potato.tasks import TaskRunner
from potato.web.render import ago, duration, exact, number, percent, url

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=timezone.utc)


def _nothing(_request: Request) -> None: ...


def test_what_is_special_in_addresses_is_escaped_in_a_name() -> None:
    app = Starlette(routes=[Route("/files/{path:path}", _nothing, name="file")])
    request = Request({"type": "http", "path": "/files/a", "root_path": "", "headers": [], "app": app})
    relative = url(request, "file", path="b/model #1 100%? ä.bin")
    assert urlsplit(urljoin("http://host/files/a", relative)).path == "/files/b/model%20%231%20100%25%3F%20%C3%A4.bin"


@pytest.mark.parametrize("here", ["/", "/annotate", "/annotate/7", "/annotate/7/back", "/admin", "/a/b/c/d"])
@pytest.mark.parametrize(("name", "target"), [("home", "/"), ("next", "/annotate"), ("item", "/annotate/5")])
def test_an_address_leads_to_its_route_from_every_page(here: str, name: str, target: str) -> None:
    routes = [Route("/", _nothing, name="home"), Route("/annotate", _nothing, name="next")]
    app = Starlette(routes=[*routes, Route("/annotate/{seq}", _nothing, name="item")])
    request = Request({"type": "http", "path": here, "root_path": "", "headers": [], "app": app})
    relative = url(request, name, **({"seq": 5} if name == "item" else {}))
    assert not relative.startswith("/")
    assert urljoin(f"http://host/some/prefix{here}", relative) == f"http://host/some/prefix{target}"


def test_under_a_prefix_every_address_stays_below_it(tmp_path: Path) -> None:
    """annotation 68, for the annotators' and the admin's pages."""
    project = scenes.project(tmp_path, admin_api_key=scenes.KEY)
    inner = create_app(project, tasks=TaskRunner(project))
    outer = Starlette(routes=[Mount("/a/b", app=inner)], lifespan=inner.router.lifespan_context)
    with TestClient(outer, base_url="http://host", headers=scenes.PAGE) as client:
        inner.state = outer.state  # where the outer application's start put the site
        client.post("/a/b/sign-in", data={"name": "ann"}, headers={"Sec-Fetch-Site": "same-origin"})
        assert all(cookie.path == "/a/b" for cookie in client.cookies.jar)
        client.post("/a/b/admin/sign-in", data={"key": scenes.KEY}, headers={"Sec-Fetch-Site": "same-origin"})
        for page, title in {
            "/": "<main",
            "/annotate": "Item i1",
            "/annotate/1": "Item i1",
            "/admin": "Overview",
            "/admin/items": "Items",
            "/admin/items/1": "Item",
            "/admin/users": "Users",
            "/admin/adjudication": "Adjudication",
            "/admin/adjudication/1?scheme=sentiment": "An answer of your own",
        }.items():
            answer = client.get(f"/a/b{page}")
            assert title in answer.text
            for address in re.findall(r'(?:href|src|action|data-[\w-]+)="([^"{#]*/[^"]*|\.+)"', answer.text):
                absolute = urlsplit(urljoin(str(answer.url), address))
                assert absolute.scheme == "data" or absolute.path.startswith("/a/b"), (page, address)


def test_text_reaches_the_page_with_its_carriage_returns() -> None:
    assert exact('a\r\nb <c> & "d"') == "a&#13;\nb &lt;c&gt; &amp; &#34;d&#34;"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3, "just now"), (70, "1 minute ago"), (7300, "2 hours ago"), (90000, "1 day ago"), (-5, "just now")],
)
def test_times_are_relative(seconds: int, said: str) -> None:
    assert ago(NOW - timedelta(seconds=seconds), NOW) == said


def test_nothing_is_a_dash_and_never_a_zero() -> None:
    assert {number(None), percent(None), duration(None), ago(None, NOW)} == {"\u2013"}


def test_what_is_almost_certain_is_not_said_to_be_certain() -> None:
    said = [percent(value) for value in (0, 0.001, 0.5, 0.9962, 1)]
    assert said == ["0\u00a0%", "<1\u00a0%", "50\u00a0%", ">99\u00a0%", "100\u00a0%"]


def test_numbers_read_well() -> None:
    assert (number(12345), percent(0.876), duration(252), duration(7260)) == (
        "12,345",
        "88\u00a0%",
        "4 min 12 s",
        "2 h 1 min",
    )
