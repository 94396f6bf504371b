"""The headers that keep a browser strict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

import loops
import site_scenes as scenes
from potato.web.protection import BodyLimit


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/potato.css", "/admin"])
def test_every_answer_forbids_inline_scripts_and_other_hosts(client: TestClient, path: str) -> None:
    policy = client.get(path, headers=scenes.PAGE).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


def test_pages_are_not_kept_and_files_are_asked_for_anew(client: TestClient) -> None:
    assert client.get("/").headers["cache-control"] == "no-store"
    assert client.get("/static/potato.css").headers["cache-control"] == "no-cache"


def test_no_template_carries_script_or_style_of_its_own() -> None:
    from potato.web.render import HERE

    for template in (HERE / "templates").rglob("*.html"):
        source = template.read_text("utf-8")
        assert "<style" not in source, template
        assert " style=" not in source, template
        assert " onclick=" not in source, template
        assert not [part for part in source.split("<script")[1:] if "src=" not in part.split(">")[0]], template


def test_nothing_is_loaded_from_another_host() -> None:
    from potato.web.render import HERE

    for file in [*HERE.rglob("*.html"), *HERE.rglob("*.css"), *(HERE / "static" / "js").rglob("*.js")]:
        assert not re.search(r"(?:src|href)=.?(?:https?:)?//|url\(.?(?:https?:)?//|@import", file.read_text("utf-8")), (
            file
        )


def test_half_a_body_is_no_request() -> None:
    """The connection broke; what had come until then is not taken for all."""
    reached: list[str] = []

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append("it")

    messages = [{"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        reached.append("an answer")

    loops.run(BodyLimit(application)({"type": "http", "method": "POST", "headers": []}, receive, send))
    assert reached == []


def changes(routes: Iterable[Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Method and address of every route that changes something."""
    for route in routes:
        if hasattr(route, "original_router"):
            yield from changes(route.original_router.routes, prefix + route.include_context.prefix)
        for method in getattr(route, "methods", None) or ():
            if method not in ("GET", "HEAD", "OPTIONS"):
                yield method, re.sub(r"\{[^}]*\}", "1", prefix + route.path)


def test_no_route_changes_anything_for_a_page_of_another_server(tmp_path: Path) -> None:
    """Signed in as annotator and as admin, with whatever a browser says of where the request comes from."""
    project = scenes.project(tmp_path, model_training={"enabled": True})
    with scenes.served(project) as client:
        scenes.sign_in(client)
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        kept = dict(client.cookies)
        found = sorted(set(changes(client.app.routes)))  # type: ignore[attr-defined]
        assert len(found) >= 20, found
        for method, path in found:
            wanted = 401 if path.startswith("/training/agent/") else 403  # agents have tokens, and no cookie counts
            for headers in ({"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}):
                answer = client.request(method, path, headers=headers, json={})
                assert (answer.status_code, dict(client.cookies)) == (wanted, kept), (method, path, headers)


@pytest.mark.parametrize("path", ["//evil.example.org", "//evil.example.org/annotate", "/annotate/1/back", "/"])
def test_no_address_leads_to_another_host(client: TestClient, path: str) -> None:
    scenes.sign_in(client)
    scenes.hand_out(client)
    answer = client.get(
        path, headers={**scenes.PAGE, "Host": "evil.example.org", "X-Forwarded-Host": "evil.example.org"}
    )
    assert "evil" not in answer.headers.get("location", "")
    assert not re.search(r'(?:href|src|action)="[^"]*evil', answer.text)
