"""The adjudicator's own answer, in a real browser: new marks in the text, by mouse and by keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import browsing
import site_scenes as site
from makers import Small, later
from marking import drag, exact, span
from potato.store import Database
from potato.store.tables import adjudications

pytestmark = pytest.mark.browser

EMOJI = "\U0001f4a9 ab \U0001f469\u200d\u2764\ufe0f\u200d\U0001f469 cd e\u0301 \U0001d518 end"
WHO = {"annotation_type": "span", "name": "who", "description": "Who and where?", "labels": ["person", "place"]}
NEW = [span(EMOJI, "\U0001f4a9 ab", "place"), span(EMOJI, "end", "person")]
"""What nobody of the annotators has marked."""


def _serve(live: Any, folder: Path) -> None:
    """A server of a project in which two annotators disagree about every question of item 1."""
    project = site.project(folder, [EMOJI], annotation_schemes=[WHO, site.TOPICS], annotations_per_item=2)
    loaded = Small(project, Database(project.database_url))
    for minute, (name, part) in enumerate((("ann", "ab"), ("bob", "cd"))):
        start, end, label, text = span(EMOJI, part, "person")
        marks = loaded.parse("who", [{"start": start, "end": end, "label": label, "text": text}])
        loaded.save(loaded.user(name), 1, {"who": marks, "topics": [["food"], ["service"]][minute]}, later(minute))
    loaded.database.close()
    live.open(project)


def _decided(live: Any) -> dict[str, Any]:
    made = adjudications.c
    return {row.scheme: row.value for row in live.rows(select(made.scheme, made.value))}


def _spans(live: Any) -> list[tuple[Any, ...]]:
    return [(each["start"], each["end"], each["label"], each["text"]) for each in _decided(live)["who"]]


def _open(tab: Any, live: Any, scheme: str, show: str = "open") -> None:
    """From the list to the question, by keys."""
    tab.goto(f"{live.url}admin/adjudication?scheme={scheme}&show={show}")
    browsing.tab_to(tab, 'a[href*="adjudication/1?"]')
    tab.keyboard.press("Enter")
    browsing.ready(tab)


def test_an_adjudicator_marks_what_no_annotator_has_marked(live: Any, tab: Any, tmp_path: Path) -> None:
    """annotation 15, 16, in adjudication"""
    _serve(live, tmp_path)
    browsing.enter_admin(tab, live.url, site.KEY)
    _open(tab, live, "who")
    exact(tab, EMOJI)
    browsing.check_access(tab, "an answer of the adjudicator's own")
    drag(tab, EMOJI, NEW[0][3])
    tab.keyboard.press("2")
    for key in ("m", "End", "1"):  # the word cursor, to the last word
        tab.keyboard.press(key)
    assert tab.locator(".span-row").count() == 2
    tab.get_by_text("Not decided yet").wait_for()
    for key in ("Escape", "Escape", "Enter"):  # from the cursor to the page
        tab.keyboard.press(key)
    tab.get_by_text("There is no item left on which annotators disagree.").wait_for()
    assert _spans(live) == NEW

    _open(tab, live, "who", "decided")
    assert tab.locator(".span-row").count() == 2  # one begins with what was decided
    tab.get_by_role("button", name="Begin with it, the answer of bob").click()
    assert tab.locator(".span-row").count() == 1
    assert _spans(live) == NEW
    tab.get_by_role("button", name="Decide").click()
    tab.get_by_role("link", name="Give an answer of your own").wait_for()
    assert _spans(live) == [span(EMOJI, "cd", "person")]


def test_an_answer_that_no_annotator_gave_is_chosen_by_keys(live: Any, tab: Any, tmp_path: Path) -> None:
    _serve(live, tmp_path)
    browsing.enter_admin(tab, live.url, site.KEY)
    _open(tab, live, "topics")
    tab.keyboard.press("Enter")
    tab.get_by_text("Give an answer first.").wait_for()
    for key in ("1", "2", "Enter"):
        tab.keyboard.press(key)
    tab.get_by_text("There is no item left on which annotators disagree.").wait_for()
    assert _decided(live) == {"topics": ["food", "service"]}
