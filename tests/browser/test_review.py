"""Reviewing suggestions in a real browser, by keys alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import browsing
import site_scenes as site
import training_scenes as scenes
from potato.store import Database, tables
from potato.store.clock import to_text
from potato.store.training import predictions
from potato.store.training.predictions import Stored

pytestmark = pytest.mark.browser

SURE = [0.9, 0.55, 0.7, 0.6, 0.65]
"""Of the items i1 to i5; the model says positive of each."""


def _serve(live: Any, folder: Path) -> None:
    """A server whose live model suggests something for five items."""
    training = {"enabled": True, "writeback": {"schemas": ["sentiment", "topics"], "include_unlabeled": True}}
    texts = [f"The lid of number {n} shuts well. <b>So it does.</b>" for n in range(1, 7)]
    project = site.project(folder, texts, model_training=training)
    database = Database(project.database_url)
    with database.write() as connection:
        for run, scheme, said in (
            (scenes.succeeded(1), "sentiment", "positive"),
            (scenes.succeeded(2), "topics", ["food"]),
        ):
            scenes.add(connection, run)
            rows = [Stored(n, scheme, said, sure, None, None) for n, sure in enumerate(SURE, 1)]
            predictions.add(connection, run.run_id, rows)
            predictions.set_live(connection, run.run_id, [scheme], to_text(scenes.NOW))
    database.close()
    live.open(project)


def _open(tab: Any, live: Any, query: str = "") -> None:
    tab.goto(f"{live.url}admin/review{query}")
    browsing.ready(tab)


def _item(tab: Any, name: str) -> None:
    """Wait until the page shows that item."""
    tab.locator(f'#review[data-id="{name}"]').wait_for()


def _verdicts(live: Any) -> list[tuple[Any, ...]]:
    v = tables.verdicts.c
    query = tables.verdicts.select().where(v.superseded.is_(False)).order_by(v.seq)
    return [(row.item, row.verdict, row.given, row.user) for row in live.rows(query)]


def test_each_verdict_takes_one_key_and_can_be_thought_over(live: Any, tab: Any, tmp_path: Path) -> None:
    _serve(live, tmp_path)
    browsing.enter_admin(tab, live.url, site.KEY)
    _open(tab, live)
    _item(tab, "i2")
    tab.locator("[data-reviewer]").fill("mira")
    tab.locator("[data-reviewer]").blur()
    tab.keyboard.press("a")
    _item(tab, "i4")
    tab.keyboard.press("2")  # the right label: negative
    _item(tab, "i5")
    tab.keyboard.press("r")
    _item(tab, "i3")
    tab.keyboard.press("ArrowLeft")
    _item(tab, "i5")
    tab.get_by_text("You have rejected this.").wait_for()
    tab.keyboard.press("1")  # the suggested label is an acceptance
    _item(tab, "i3")
    tab.keyboard.press("ArrowRight")
    _item(tab, "i1")
    tab.keyboard.press("c")
    tab.locator(".question.correcting").wait_for()
    tab.keyboard.press("2")
    tab.get_by_text("That was the last one of this round.").wait_for()
    assert _verdicts(live) == [
        (2, "accept", "positive", "mira"),
        (4, "correct", "negative", "mira"),
        (5, "accept", "positive", "mira"),
        (1, "correct", "negative", "mira"),
    ]
    tab.get_by_role("link", name="Begin again").click()
    browsing.ready(tab)
    _item(tab, "i3")
    assert tab.locator("[data-reviewer]").input_value() == "mira"


def test_several_labels_are_corrected_at_once_and_sent_by_a_key(live: Any, tab: Any, tmp_path: Path) -> None:
    _serve(live, tmp_path)
    browsing.enter_admin(tab, live.url, site.KEY)
    _open(tab, live, "?scheme=topics")
    _item(tab, "i2")
    tab.keyboard.press("1")
    tab.keyboard.press("2")
    tab.locator("#work input:checked").nth(1).wait_for()
    tab.keyboard.press("c")
    _item(tab, "i4")
    assert _verdicts(live) == [(2, "correct", ["food", "service"], "admin")]


def test_a_verdict_that_does_not_arrive_is_not_said_to_be_saved_and_lands_once(
    live: Any, tab: Any, tmp_path: Path
) -> None:
    _serve(live, tmp_path)
    browsing.enter_admin(tab, live.url, site.KEY)
    _open(tab, live)
    _item(tab, "i2")
    tab.route("**/api/reviews", lambda route: (route.fetch(), route.abort()))  # it arrives, and the answer is lost
    tab.keyboard.press("a")
    tab.locator("#save-state", has_text="Not saved: no connection").wait_for()
    tab.unroute("**/api/reviews")
    tab.keyboard.press("a")
    _item(tab, "i4")
    assert len(live.rows(tables.verdicts.select())) == 1
    assert len(live.rows(tables.annotation_history.select())) == 1


def test_the_page_meets_wcag_on_a_phone_and_in_the_dark(live: Any, tabs: Any, tmp_path: Path) -> None:
    _serve(live, tmp_path)
    shots = os.environ.get("POTATO_SCREENSHOTS")
    for width, scheme in ((360, "dark"), (1280, "light")):
        tab = tabs.open(viewport={"width": width, "height": 800}, color_scheme=scheme)
        browsing.enter_admin(tab, live.url, site.KEY)
        for name, query in (("one", ""), ("several", "?scheme=topics"), ("past", "?scheme=sentiment&after=1")):
            _open(tab, live, query)
            if shots:
                tab.screenshot(path=f"{shots}/review-{name}-{width}.png")
            browsing.check_access(tab, f"review: {name}, {width}")
