"""Marking stretches of a text, in a real browser: by mouse, by finger, and by keys alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from sqlalchemy import select

import browsing
import site_scenes as scenes
from marking import box, drag, exact, span
from potato.store import Database
from potato.store.tables import annotations as answers
from potato.store.training import predictions, runs
from potato.store.training.predictions import Stored
from potato.store.training.runs import Run, State

pytestmark = pytest.mark.browser

WHO = {
    "annotation_type": "span",
    "name": "who",
    "description": "Who and where?",
    "labels": ["person", {"name": "place", "description": "where it is"}, "<b>thing"],
}
CRLF = "\n  one\r\ntwo  \tthree\u00a0four"
EMOJI = "\U0001f4a9 ab \U0001f469\u200d\u2764\ufe0f\u200d\U0001f469 cd e\u0301 \U0001d518 end"
HEBREW = "\u05d3\u05e0\u05d9 \u05d2\u05e8 \u05d1\u05d7\u05d9\u05e4\u05d4"
MARKUP = "<img src=x onerror=alert(1)> a<b && c </script> end"
PLAIN = "Ann Lee met Bob in New York City."

Spans = Sequence[tuple[int, int, str, str]]
"""Start, end, label, text."""


def shown(tab: Any, seq: int) -> None:
    """Wait until the page shows that item and is ready for keys."""
    tab.locator(f'#work[data-item="{seq}"]:not([aria-busy="true"])').wait_for()
    browsing.ready(tab)


def enter(tab: Any, live: Any, name: str = "ann") -> None:
    browsing.sign_in(tab, live.url, name)
    shown(tab, 1)


def saved(tab: Any, live: Any, item: int, wanted: Spans) -> None:
    """Wait until the list shows these spans and nothing is on its way any more; then the store has them too."""
    marked = [f"{label}\n{text}" for _, _, label, text in wanted]
    look = """() => [...document.querySelectorAll(".span-row:not(.suggested)")].map((row) =>
      row.querySelector("[data-name]").textContent + "\\n" + row.querySelector("[data-quote]").textContent)"""
    browsing.until(tab, f"(wanted) => JSON.stringify(({look})()) === JSON.stringify(wanted)", marked)
    browsing.until(tab, "() => !localStorage.length")
    rows = live.rows(select(answers.c.value).where(answers.c.item == item, answers.c.scheme == "who"))
    stored = [(span["start"], span["end"], span["label"], span["text"]) for row in rows for span in row[0]]
    assert stored == list(wanted)


def tap(tab: Any, text: str, part: str) -> None:
    where = box(tab, text, part)
    tab.touchscreen.tap(where["x"], where["y"])


def press(tab: Any, *keys: str) -> None:
    for key in keys:
        tab.keyboard.press(key)


CASES = [
    (CRLF, "four", ["End"]),
    (EMOJI, "end", ["End"]),
    (EMOJI, "cd e\u0301 \U0001d518", ["End", *["ArrowLeft"] * 3, *["Shift+ArrowRight"] * 2]),
    (HEBREW, "\u05d2\u05e8", ["Home", "ArrowLeft"]),  # forth, in text that runs to the left
    (MARKUP, "end", ["End"]),
]
"""A text, a part of it, and the keys that lead the word cursor there."""


def by_mouse(tab: Any, text: str, part: str, _keys: list[str]) -> None:
    drag(tab, text, part)
    press(tab, "2")


def by_finger(tab: Any, text: str, part: str, _keys: list[str]) -> None:
    for word in dict.fromkeys([part.split(" ")[0], part.split(" ")[-1]]):
        tap(tab, text, word)
    tab.locator("[data-label=place]").tap()


def by_keys(tab: Any, _text: str, _part: str, keys: list[str]) -> None:
    press(tab, "m", *keys, "2")


@pytest.mark.parametrize("mark", [by_mouse, by_finger, by_keys])
def test_exactly_what_was_chosen_is_marked(live: Any, tabs: Any, mark: Any) -> None:
    """annotation 15, 16, 17: line ends, tabs, double spaces, no-break spaces, characters of several code points or
    units, right-to-left text, and markup."""
    phone = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
    tab = tabs.open(**(phone if mark is by_finger else {}))
    live.serve([text for text, _, _ in CASES], annotation_schemes=[WHO])
    enter(tab, live)
    for item, (text, part, keys) in enumerate(CASES, 1):
        shown(tab, item)
        mark(tab, text, part, keys)
        saved(tab, live, item, [span(text, part, "place")])
        exact(tab, text)
        tab.locator("[data-action=next]").click()
    tab.get_by_text("Everything is annotated.").wait_for()


def test_what_a_long_press_selects_is_marked_in_whole_characters(live: Any, tabs: Any) -> None:
    """A finger that rests selects as its system does, and moves the selection's ends: annotation 16"""
    tab = tabs.open(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    live.serve([EMOJI], annotation_schemes=[WHO])
    enter(tab, live)
    select_units = """([from, to]) => {
      const node = document.querySelector(".item-text").firstChild;
      getSelection().setBaseAndExtent(node, from, node, to);
    }"""
    couple = EMOJI.index("\U0001f469") + 1  # in UTF-16 units, of which the first character has two
    tab.evaluate(select_units, [3, 5])  # the word that was pressed
    tab.locator("body.picking").wait_for()
    tab.evaluate(select_units, [couple + 1, couple + 4])  # from within one character, to within it
    browsing.until(tab, "() => document.querySelectorAll('.mark-ground.picked').length === 1")
    tab.locator("[data-label=place]").tap()
    saved(tab, live, 1, [span(EMOJI, "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f469", "place")])
    assert tab.evaluate("getSelection().isCollapsed")
    at_once = f"units => {{ ({select_units})(units); document.querySelector('[data-label=person]').click(); }}"
    tab.evaluate(at_once, [3, 5])  # a label chosen before the browser tells of the selection
    saved(
        tab,
        live,
        1,
        [span(EMOJI, "ab", "person"), span(EMOJI, "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f469", "place")],
    )


def test_spans_overlap_change_and_go_by_keys_alone(live: Any, tab: Any) -> None:
    live.serve([PLAIN, "nobody here"], annotation_schemes=[WHO])
    enter(tab, live)
    press(tab, "1")
    tab.get_by_text("Choose a stretch of the text first.").wait_for()
    press(tab, "m", *["ArrowRight"] * 5, *["Shift+ArrowRight"] * 2, "2")
    city = span(PLAIN, "New York City", "place")
    saved(tab, live, 1, [city])
    press(tab, "ArrowRight", "ArrowLeft", "3")  # the cursor goes on from where it stood
    thing = span(PLAIN, "York", "<b>thing")
    saved(tab, live, 1, [city, thing])
    assert tab.locator(".mark-bar").count() == 2
    lanes = tab.evaluate(
        "[...document.querySelectorAll('.mark-bar')].map((bar) => bar.style.getPropertyValue('--lane'))"
    )
    assert lanes == ["0", "1"]
    exact(tab, PLAIN)
    press(tab, "Home", "Shift+ArrowRight", "1", "m", "Alt+ArrowLeft", "Alt+Shift+ArrowRight", "1")
    lee, part = span(PLAIN, "Ann Lee", "person"), span(PLAIN, "nn Le", "person")
    saved(tab, live, 1, [lee, part, city, thing])
    press(tab, "Tab", "Tab")  # to the labels
    tab.locator(".span-pick").nth(1).focus()
    press(tab, "Delete")
    saved(tab, live, 1, [lee, city, thing])
    assert tab.evaluate("document.activeElement.closest('.span-row').textContent").endswith("New York City\u00d7")
    press(tab, "Enter")
    assert tab.locator(".span-pick[aria-pressed=true]").count() == 1
    press(tab, "3")  # another label
    other = span(PLAIN, "New York City", "<b>thing")
    saved(tab, live, 1, [lee, other, thing])
    press(tab, "z")
    saved(tab, live, 1, [lee, city, thing])
    press(tab, "4")  # nothing to mark
    saved(tab, live, 1, [])
    assert tab.get_by_label("Nothing to mark").is_checked()
    press(tab, "Enter")
    shown(tab, 2)
    press(tab, "Enter")
    tab.get_by_text("Choose an answer, or skip this item.").wait_for()
    press(tab, "4", "Enter")
    tab.get_by_text("Everything is annotated.").wait_for()
    assert [row[0] for row in live.rows(select(answers.c.value))] == [[], []]


def test_a_click_on_a_mark_chooses_the_shortest_and_then_the_next(live: Any, tab: Any) -> None:
    live.serve([PLAIN], annotation_schemes=[WHO])
    enter(tab, live)
    drag(tab, PLAIN, "New York City")
    press(tab, "2")
    drag(tab, PLAIN, "York")
    press(tab, "3")
    city, york = span(PLAIN, "New York City", "place"), span(PLAIN, "York", "<b>thing")
    saved(tab, live, 1, [city, york])
    where = box(tab, PLAIN, "York")
    chosen = tab.locator(".span-row.chosen [data-quote]")
    tab.mouse.click(where["x"], where["y"])
    assert chosen.text_content() == "York"
    tab.mouse.click(where["x"], where["y"], delay=600)
    browsing.until(
        tab, "() => document.querySelector('.span-row.chosen [data-quote]')?.textContent === 'New York City'"
    )
    press(tab, "Delete")
    saved(tab, live, 1, [york])
    tab.reload()
    shown(tab, 1)
    saved(tab, live, 1, [york])


def test_suggested_spans_are_taken_one_by_one_or_all(live: Any, tab: Any) -> None:
    """annotation 16, 59: a suggestion is drawn where its text stands, and is no answer until it is taken."""
    project = scenes.project(
        live.folder, [EMOJI, PLAIN], annotation_schemes=[WHO], model_training={"writeback": {"schemas": ["who"]}}
    )
    said = [span(EMOJI, "cd", "person"), span(EMOJI, "end", "place")]
    suggest(project, {1: said, 2: [span(PLAIN, "Bob", "person")]})
    live.open(project)
    enter(tab, live)
    assert tab.locator(".suggestion").inner_text().startswith("\u2726 The model suggests 2 marks, 90")
    browsing.until(tab, "() => document.querySelectorAll('.mark-bar.suggested').length === 2")
    drawn = tab.locator(".mark-ground.suggested").last.bounding_box()
    where = box(tab, EMOJI, "end")
    assert abs(drawn["x"] - where["left"]) < 2
    assert abs(drawn["width"] - (where["right"] - where["left"])) < 2
    assert live.rows(select(answers.c.value)) == []
    tab.get_by_role("button", name="Take", exact=True).last.click()
    saved(tab, live, 1, [said[1]])
    press(tab, "m", "Home", "3")
    dung = span(EMOJI, "\U0001f4a9", "<b>thing")
    saved(tab, live, 1, [dung, said[1]])
    press(tab, "a")
    saved(tab, live, 1, [dung, *said])
    press(tab, "Enter")
    shown(tab, 2)
    press(tab, "a")
    saved(tab, live, 2, [span(PLAIN, "Bob", "person")])
    assert [row[0] for row in live.rows(select(answers.c.origin).order_by(answers.c.item))] == ["changed", "accepted"]


def test_suggested_spans_are_corrected_by_a_reviewer(live: Any, tab: Any) -> None:
    training = {"enabled": True, "writeback": {"schemas": ["who"], "include_unlabeled": True}}
    project = scenes.project(live.folder, [PLAIN], annotation_schemes=[WHO], model_training=training)
    suggest(project, {1: [span(PLAIN, "Bob", "person")]})
    live.open(project)
    browsing.enter_admin(tab, live.url, scenes.KEY)
    tab.goto(f"{live.url}admin/review")
    browsing.ready(tab)
    browsing.until(tab, "() => document.querySelectorAll('.mark-bar.suggested').length === 1")
    browsing.check_access(tab, "review")
    press(tab, "c")  # nothing is changed yet: the word cursor gets the focus
    browsing.until(tab, "() => document.activeElement.matches('[data-cursor]')")
    press(tab, "End", "Shift+ArrowLeft", "ArrowLeft", "ArrowLeft", "Shift+ArrowRight", "Shift+ArrowRight", "2", "c")
    tab.get_by_text("Nothing waits for review").wait_for()
    [row] = live.rows(select(answers.c.value))
    assert [(one["start"], one["end"], one["label"], one["text"]) for one in row[0]] == [
        span(PLAIN, "New York City", "place")
    ]


def suggest(project: Any, said: dict[int, Spans]) -> None:
    """Let a model suggest these spans for these items."""
    at = "2026-11-29T14:15:00.000Z"
    rows = [
        Stored(
            item,
            "who",
            [dict(zip(("start", "end", "label", "text"), one, strict=True)) for one in spans],
            0.9,
            None,
            None,
        )
        for item, spans in said.items()
    ]
    database = Database(project.database_url)
    with database.write() as connection:
        runs.add(
            connection, Run("r1", State.SUCCESS, "hf-token-classification", ["who"], {}, "api", "local", "local", at)
        )
        predictions.add(connection, "r1", rows)
        predictions.set_live(connection, "r1", ["who"], at)
    database.close()


def test_the_page_of_spans_meets_wcag_and_never_scrolls_sideways(live: Any, tabs: Any) -> None:
    project = scenes.project(
        live.folder,
        [PLAIN],
        annotation_schemes=[WHO],
        annotations_per_item=2,
        model_training={"writeback": {"schemas": ["who"]}},
    )
    suggest(project, {1: [span(PLAIN, "Bob", "person")]})
    live.open(project)
    for width, colours in ((360, "dark"), (1280, "light")):
        tab = tabs.open(viewport={"width": width, "height": 800}, color_scheme=colours)
        enter(tab, live, f"ann {width}")
        browsing.check_access(tab, f"suggested, {width}")
        press(tab, "a")
        tab.locator("[data-cursor]").evaluate("(cursor) => cursor.focus()")
        press(tab, "End", "Shift+Home", "2", "End")
        browsing.until(tab, "() => document.querySelectorAll('.mark-bar').length >= 2")
        browsing.check_access(tab, f"marked and picked, {width}")
        press(tab, "Escape", "?")
        tab.get_by_text("choose words of the text by keys").wait_for()
        browsing.check_access(tab, f"keys, {width}")


def test_labels_come_to_the_text_while_something_is_picked_unless_they_stand_beside_it(live: Any, tab: Any) -> None:
    live.serve([PLAIN], annotation_schemes=[WHO, {**WHO, "name": "what", "labels": ["event", "date"]}])
    enter(tab, live)
    places = (
        "(each) => [...document.querySelectorAll('.span-labels')].map((labels) => getComputedStyle(labels).position)"
    )
    press(tab, "m")
    assert tab.evaluate(places) == ["static", "static"]
    press(tab, "Escape")
    tab.set_viewport_size({"width": 700, "height": 600})
    press(tab, "m")
    assert tab.evaluate(places) == ["fixed", "fixed"]
    upper, lower = (labels.bounding_box() for labels in tab.locator(".span-labels").all())
    assert upper["y"] + upper["height"] <= lower["y"] and lower["y"] + lower["height"] <= 600
    browsing.check_access(tab, "labels over the foot of the window")
    press(tab, "Escape")
    assert tab.evaluate(places) == ["static", "static"]


def test_a_long_text_is_marked_whole_beside_long_suggestions(live: Any, tab: Any) -> None:
    """More than browsers send of a request that outlives its page, and than a record of suggestions once might have."""
    text = "word and \U0001f4a9 more " * 5000
    half = len(text) // 2
    training = {"writeback": {"schemas": ["who"]}}
    project = scenes.project(live.folder, [text], annotation_schemes=[WHO], model_training=training)
    suggest(project, {1: [(0, half, "person", text[:half]), (half, len(text) - 1, "person", text[half:-1])]})
    live.open(project)
    enter(tab, live)
    press(tab, "m", "Home", "Shift+End", "2")
    tab.locator("#save-state", has_text="Saved at").wait_for()
    [marked] = [row[0] for row in live.rows(select(answers.c.value))]
    assert marked == [{"start": 0, "end": len(text) - 1, "label": "place", "text": text[:-1]}]
    quote = tab.locator(".span-row:not(.suggested) [data-quote]").text_content()
    assert quote.endswith("\u2026") and text.startswith(quote[:-1])  # of all of it, a browser takes seconds to lay out
    assert len(quote) < 600
