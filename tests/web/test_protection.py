"""The headers that keep a browser strict."""

from __future__ import annotations

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
    import re

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
