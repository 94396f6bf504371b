"""A whole visit below a path that a proxy adds, in a real browser: every address holds."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

import browsing
import site_scenes as scenes
from media_files import picture, recording
from potato.store.tables import annotations as answers
from prefix_proxy import prefix_proxy

pytestmark = pytest.mark.browser

PREFIX = "/a/study%20b"


def serve(live: Any) -> None:
    """Items with an image and a recording, guidelines, and training."""
    (live.folder / "circle & 1%.svg").write_bytes(picture())
    (live.folder / "bells.wav").write_bytes(recording())
    (live.folder / "guidelines.md").write_text("Say what **you** think.", "utf-8")
    rows = [{"id": f"m{n}", "text": f"text {n}", "image": "circle & 1%.svg", "sound": "bells.wav"} for n in range(4)]
    properties = {"image_key": "image", "audio_key": "sound"}
    config = {"guidelines": "guidelines.md", "model_training": {"enabled": True}}
    live.open(scenes.project(live.folder, rows=rows, item_properties=properties, **config))


def annotate(tab: Any, url: str) -> None:
    """Sign in, look and listen, answer two items, go back, read the guidelines, sign out: by keys, and one click."""
    browsing.sign_in(tab, url, "ann")
    for number in (1, 2):
        assert tab.url == f"{url}annotate/{number}"
        browsing.until(tab, "() => document.querySelector('.item-image').naturalWidth === 800")
        browsing.until(tab, "() => document.querySelector('audio').duration === 30")
        tab.keyboard.press("1")
        tab.locator("#save-state", has_text="Saved at").wait_for()
        tab.keyboard.press("Enter")
        tab.wait_for_url(f"{url}annotate/{number + 1}")
        browsing.ready(tab)
    tab.keyboard.press("ArrowLeft")
    tab.wait_for_url(f"{url}annotate/2")
    browsing.ready(tab)
    tab.keyboard.press("g")
    tab.get_by_text("Say what you think.").wait_for()
    tab.get_by_role("button", name="Sign out").click()
    tab.locator("#name").wait_for()


def look_around_as_admin(tab: Any, url: str) -> None:
    """Give the key where it is asked for, hear the live page begin, and open every page that the menu leads to."""
    tab.goto(f"{url}admin/training")
    tab.locator("#key:focus").wait_for()
    tab.keyboard.type(scenes.KEY)
    with tab.expect_response(lambda answer: "event-stream" in answer.headers.get("content-type", "")) as heard:
        tab.keyboard.press("Enter")
    assert heard.value.status == 200
    assert tab.url == f"{url}admin/training"
    for address in tab.eval_on_selector_all("nav a", "links => links.map(link => link.href)"):
        assert tab.goto(address).status == 200


def test_every_address_holds_below_a_path_that_a_proxy_adds(live: Any, tab: Any) -> None:
    """annotation 68"""
    serve(live)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    with prefix_proxy(live.port, PREFIX) as proxy:
        annotate(tab, proxy.url)
        look_around_as_admin(tab, proxy.url)
        kept = {cookie["path"] for cookie in tab.context.cookies()}
        tab.goto("about:blank")
        strays = [path for path in proxy.strays if path != "/favicon.ico"]
    assert strays == []
    assert [url for url in asked if not url.startswith((proxy.url, "data:", "about:"))] == []
    assert kept <= {f"{PREFIX}", f"{PREFIX}/admin"}
    assert live.rows(select(answers.c.item, answers.c.value)) == [(1, "positive"), (2, "positive")]
