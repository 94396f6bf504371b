"""Questions with many labels, in a real browser: one is found by its name, by keys alone and by touch."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

import browsing
from potato.store.tables import annotations as answers

pytestmark = pytest.mark.browser

LABELS = [{"name": f"label {n}", "description": "wet" if n == 23 else None} for n in range(1, 31)]
ONE = {"annotation_type": "radio", "name": "one", "description": "Which?", "labels": [*LABELS, "Caf\u00e9 3"]}
ANY = {"annotation_type": "multiselect", "name": "any", "description": "Which of them?", "labels": LABELS}
MARKS = {"annotation_type": "span", "name": "marks", "description": "Mark them", "labels": LABELS}
PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}


def enter(live: Any, tab: Any, scheme: dict[str, Any]) -> None:
    live.serve(["Ann met Bob"], annotation_schemes=[scheme])
    browsing.sign_in(tab, live.url, "ann")
    browsing.ready(tab)


def kept(live: Any, tab: Any) -> Any:
    """The answer in the store, once nothing waits in the browser any more."""
    browsing.until(tab, "() => !localStorage.length")
    return live.rows(select(answers.c.value))[0][0]


def shown(tab: Any) -> list[str]:
    return list(tab.locator(".choice:visible .choice-text").all_inner_texts())


def test_one_of_many_is_found_by_keys(live: Any, tab: Any) -> None:
    enter(live, tab, ONE)
    tab.keyboard.press("/")
    tab.keyboard.type("wet")
    assert shown(tab) == ["label 23"]
    tab.keyboard.press("Escape")  # all are there again, and nothing was chosen
    assert len(shown(tab)) == len(ONE["labels"])
    tab.keyboard.type("CAFE")
    tab.get_by_text("1 of 31. Enter chooses Caf\u00e9 3.").wait_for()
    browsing.check_access(tab, "finding a label")
    tab.keyboard.press("Control+a")
    tab.keyboard.type("3")
    tab.keyboard.press("Backspace")
    tab.keyboard.type("nowhere")
    tab.get_by_text("None of 31 labels has that.").wait_for()
    tab.keyboard.press("Enter")  # chooses nothing, and does not go on
    tab.keyboard.press("Control+a")
    tab.keyboard.type("label 3")  # a label of just that name comes before those that begin so
    tab.keyboard.press("Enter")
    tab.get_by_text("Chosen: label 3", exact=True).wait_for()
    assert kept(live, tab) == "label 3"
    tab.keyboard.press("z")
    browsing.until(tab, "() => document.querySelector('[data-chosen]').textContent === ''")
    tab.keyboard.press("/")
    tab.keyboard.type("23")
    tab.keyboard.press("Enter")
    assert kept(live, tab) == "label 23"
    tab.keyboard.press("Enter")
    tab.get_by_text("Everything is annotated.").wait_for()


def test_several_of_many_are_found_by_touch(live: Any, tabs: Any) -> None:
    tab = tabs.open(**PHONE)
    enter(live, tab, ANY)
    field = tab.get_by_label("Find a label")
    for name in ("label 30", "label 7"):
        field.tap()
        field.fill(name)
        tab.get_by_role("checkbox", name=name, exact=True).tap()
    found = ["label 7", "label 17", "label 27"]
    assert shown(tab) == [*found, "label 30", "None of these"]  # what is chosen stays in view
    browsing.check_access(tab, "found by touch")
    field.fill("")
    tab.get_by_text("Chosen: label 7, label 30", exact=True).wait_for()
    assert kept(live, tab) == ["label 7", "label 30"]


def test_a_mark_gets_one_of_many_labels_by_keys(live: Any, tab: Any) -> None:
    enter(live, tab, MARKS)
    for key in ("m", "End", "/"):
        tab.keyboard.press(key)
    tab.keyboard.type("label 22")
    tab.keyboard.press("Enter")
    tab.locator("[data-cursor]:focus").wait_for()  # one goes on in the text
    assert kept(live, tab) == [{"start": 8, "end": 11, "label": "label 22", "text": "Bob"}]
