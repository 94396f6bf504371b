"""Every type of question with a field or a pair, as people answer it: by keys alone, by touch, with a bad network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select, update

import browsing
import site_scenes as scenes
from potato.project import Project
from potato.schemes.keys import RESERVED_KEYS, ROWS
from potato.schemes.pairwise import Pairwise
from potato.store import Database
from potato.store.annotations import Entry, record
from potato.store.tables import annotation_history as history
from potato.store.tables import annotations as answers
from potato.store.tables import assignments, facts, users
from potato.store.training import predictions, runs
from potato.store.training.predictions import Stored
from potato.store.training.runs import Run, State

pytestmark = pytest.mark.browser

BETTER = {"annotation_type": "pairwise", "name": "better", "description": "Which is better?"}
CLEAR = {
    "annotation_type": "slider",
    "name": "clear",
    "description": "How clear is it?",
    "min": 0,
    "max": 10,
    "min_label": "not at all",
    "max_label": "wholly",
}
AGE = {"annotation_type": "number", "name": "age", "description": "From which age?", "min": 0, "max": 18, "step": 0.5}
WHY = {"annotation_type": "text", "name": "why", "description": "Why?", "max_length": 12, "required": False}
TITLE = {**WHY, "name": "title", "description": "A title", "multiline": False}
HEBREW = "\u05dc\u05de\u05d4 \u05d4\u05e9\u05de\u05d9\u05dd \u05db\u05d7\u05d5\u05dc\u05d9\u05dd?"


def _project(folder: Path, *schemes: dict[str, Any], **config: Any) -> Project:
    rows = [
        {"id": f"i{n}", "text": f"{HEBREW} {n}", "text_a": f"a of {n}", "text_b": f"b <b>of</b> {n}"}
        for n in range(1, 5)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return scenes.project(folder, data_files=["pairs.jsonl"], annotation_schemes=list(schemes), **config)


def _enter(tab: Any, live: Any) -> None:
    browsing.sign_in(tab, live.url, "ann")
    _item(tab, 1)


def _item(tab: Any, seq: int) -> None:
    tab.locator(f'#work[data-item="{seq}"]:not([aria-busy="true"])').wait_for()
    browsing.ready(tab)


def _state(tab: Any, text: str) -> None:
    tab.locator("#save-state", has_text=text).wait_for()


def _sent(tab: Any) -> None:
    """Wait until nothing waits in the browser."""
    browsing.until(tab, "() => !Object.keys(localStorage).some((key) => key.includes(':draft:'))")


def _answers(live: Any, item: int = 1) -> dict[str, Any]:
    query = select(answers.c.scheme, answers.c.value).where(answers.c.item == item)
    return {row[0]: row[1] for row in live.rows(query)}


def _history(live: Any, scheme: str) -> list[Any]:
    return [
        row[0] for row in live.rows(select(history.c.value).where(history.c.scheme == scheme).order_by(history.c.seq))
    ]


def test_every_type_by_keyboard_alone(live: Any, tab: Any) -> None:
    """Nothing comes from another host, and no key acts while one types (annotation 23)."""
    hosts: set[str] = set()
    tab.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    live.open(_project(live.folder, BETTER, CLEAR, AGE, WHY, TITLE))
    _enter(tab, live)
    press = tab.keyboard.press
    press("1")  # the first of the two, whichever that is
    press("4")  # to the line
    assert tab.evaluate("document.activeElement.ariaValueText") == "not answered yet"
    for _ in range(9):
        press("ArrowLeft")  # down to 0, which is an answer
    press("5")  # to the number; on the line, keys act
    tab.keyboard.type("3,5")
    press("Escape")
    press("6")
    tab.keyboard.type("s1?a")
    press("Enter")
    tab.keyboard.type("b \U0001f4a9")
    press("Escape")
    press("7")
    tab.keyboard.type("sky")
    press("Enter")  # saves and goes on
    _item(tab, 2)
    first = Pairwise.model_validate(BETTER).shown_as("ann", "i1")
    assert _answers(live) == {"better": first[0], "clear": 0, "age": 3.5, "why": "s1?a\nb \U0001f4a9", "title": "sky"}
    shown = live.rows(select(history.c.shown).where(history.c.scheme == "better"))
    assert shown == [(first,)]
    press("4")
    press("Space")  # answers where the line stands
    press("6")
    keys = "".join(ROWS) + "".join(sorted(RESERVED_KEYS))
    tab.keyboard.type(keys)
    assert tab.locator("textarea.text-field").input_value() == keys
    assert tab.locator("dialog[open], .question input:checked").count() == 0
    press("Control+a")
    tab.keyboard.type("so")
    press("Control+Enter")
    tab.get_by_text("Choose an answer, or skip this item.").wait_for()
    press("3")
    press("5")
    press("Control+Enter")
    tab.get_by_text("Give an answer, or skip this item.").wait_for()
    press("Escape")
    _sent(tab)
    assert _answers(live, 2) == {"better": "tie", "clear": 5, "why": "so"}
    press("ArrowLeft")
    _item(tab, 1)
    assert tab.locator(".number-field").input_value() == "3.5"
    assert tab.locator("output").inner_text() == "0"
    assert tab.locator("textarea.text-field").input_value() == "s1?a\nb \U0001f4a9"
    assert tab.locator(".pair").get_attribute("data-order") == " ".join(first)
    assert hosts == {urlsplit(live.url).netloc}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_type_by_touch_meets_wcag_on_a_phone(live: Any, tabs: Any, scheme: str) -> None:
    """Every type but spans, which test_spans.py marks by finger."""
    chosen = (scenes.SENTIMENT, scenes.TOPICS, scenes.STARS)
    live.open(_project(live.folder, BETTER, CLEAR, AGE, WHY, TITLE, *chosen))
    tab = tabs.open(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, color_scheme=scheme)
    tab.goto(live.url)
    tab.locator("#name").fill("ann")
    tab.get_by_role("button", name="Start annotating").tap()
    _item(tab, 1)
    browsing.check_access(tab, "untouched")
    assert tab.locator(".side-text").all_inner_texts() in (["a of 1", "b <b>of</b> 1"], ["b <b>of</b> 1", "a of 1"])
    assert tab.evaluate("getComputedStyle(document.querySelector('.item-text')).direction") == "rtl"
    stood = tab.locator(".question").evaluate_all("all => all.map(each => each.offsetTop)")
    tab.get_by_text("Neither: a tie").tap()
    tab.get_by_text("negative", exact=True).tap()
    tab.get_by_text("food", exact=True).tap()
    tab.get_by_text("service", exact=True).tap()
    tab.get_by_text("food", exact=True).tap()
    tab.locator(".point", has_text="4").tap()
    tab.locator(".slider-field").tap()  # in its middle, where it stands already
    tab.locator(".number-field").tap()
    tab.keyboard.type("0")
    tab.keyboard.press("Tab")
    # Nothing moves under the finger as one answers.
    assert tab.locator(".question").evaluate_all("all => all.map(each => each.offsetTop)") == stood
    tab.locator("textarea.text-field").tap()
    tab.keyboard.type("much too long a text")
    tab.get_by_role("button", name="Save and go on").tap()
    tab.get_by_text("That has 20 characters, and 12 are the most. Shorten it to save it.").wait_for()
    _sent(tab)
    _state(tab, "Not saved: see the question.")
    browsing.check_access(tab, "with a complaint")
    given = {"better": "tie", "clear": 5, "age": 0, "sentiment": "negative", "topics": ["service"], "stars": 4}
    assert _answers(live) == given
    tab.locator("textarea.text-field").fill("short")
    tab.get_by_role("button", name="Flag").tap()
    tab.locator("#flag-reason").fill("odd")
    browsing.check_access(tab, "flagging")
    tab.get_by_role("button", name="Flag it").tap()
    tab.get_by_text("You flagged this item.").wait_for()
    tab.get_by_role("button", name="Save and go on").tap()
    _item(tab, 2)
    assert _answers(live)["why"] == "short"
    assert live.rows(select(assignments.c.flag).where(assignments.c.item == 1)) == [("odd",)]


def test_at_400_percent_zoom_nothing_scrolls_sideways_and_the_bar_covers_nothing(live: Any, tab: Any) -> None:
    """WCAG 2.2, 1.4.10: a window of 1280 by 1024 that is enlarged four times has 320 by 256 to show."""
    points = {"annotation_type": "likert", "name": "agree", "description": "Do you agree?", "size": 7}
    live.open(_project(live.folder, points, WHY))
    tab.set_viewport_size({"width": 320, "height": 256})
    _enter(tab, live)
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert tab.locator(".bar").evaluate("bar => getComputedStyle(bar).position") == "static"
    tab.get_by_role("radio", name="7").check()
    tab.get_by_role("button", name="Save and go on").click()
    _item(tab, 2)
    assert _answers(live) == {"agree": 7}


def test_no_key_acts_and_nothing_is_sent_while_an_input_method_composes(live: Any, tab: Any) -> None:
    """annotation 23"""
    live.open(_project(live.folder, {**TITLE, "required": True}))
    _enter(tab, live)
    composer = tab.context.new_cdp_session(tab)
    tab.keyboard.press("1")
    composer.send("Input.imeSetComposition", {"text": "\u306b\u307b", "selectionStart": 2, "selectionEnd": 2})
    assert tab.locator("input.text-field").input_value() == "\u306b\u307b"
    chosen = """document.activeElement.dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true }))"""
    assert tab.evaluate(chosen) is True  # it is the input method's, and not taken from it
    assert tab.locator("[data-error]:visible").count() == 0
    assert tab.evaluate("Object.keys(localStorage).some((key) => key.includes(':draft:'))") is False
    composer.send("Input.insertText", {"text": "\u65e5\u672c"})
    assert tab.locator("input.text-field").input_value() == "\u65e5\u672c"
    tab.keyboard.press("Enter")
    _item(tab, 2)
    assert _history(live, "title") == ["\u65e5\u672c"]


def test_numbers_are_read_as_people_type_them(live: Any, tab: Any) -> None:
    live.open(_project(live.folder, AGE))
    _enter(tab, live)
    read = """async (typed) => {
      const { src } = document.querySelector("script[type=module][src*=annotate]");
      const { parseNumber } = await import(src.replace("annotate.js", "answer-fields.js"));
      return typed.map((each) => { const { value, problem } = parseNumber(each); return value ?? problem ?? null; });
    }"""
    typed = {
        "": None,
        " 12 ": 12,
        "0": 0,
        "-0": 0,
        "\u22123.5": -3.5,
        "3,5": 3.5,
        "0,125": 0.125,
        ".5": 0.5,
        "1e3": 1000,
        "\u0661\u0662\u066b\u0665": 12.5,
        "1,000": "\u201c1,000\u201d can be read in more than one way. Write 1000 or 1.000.",
        "1,000,000": "\u201c1,000,000\u201d can be read in more than one way. Write 1000000.",
        "1.000,5": "\u201c1.000,5\u201d is not a number. Write it in digits, like 12 or 3.5.",
        "ten": "\u201cten\u201d is not a number. Write it in digits, like 12 or 3.5.",
        "1e999": "\u201c1e999\u201d is not a number. Write it in digits, like 12 or 3.5.",
    }
    assert dict(zip(typed, tab.evaluate(read, list(typed)), strict=True)) == typed
    field = tab.locator(".number-field")
    for wrong, told in {"19": "18 is the most", "-1": "0 is the least", "0.3": "Only steps of 0.5 are taken"}.items():
        field.fill(wrong)
        tab.keyboard.press("Enter")
        tab.get_by_text(told).wait_for()
    tab.keyboard.press("Escape")
    tab.keyboard.press("ArrowRight")  # what stands here cannot be kept, so the page stays
    assert field.evaluate("(each) => each === document.activeElement")
    tab.get_by_role("button", name="Clear").click()
    _state(tab, "Saved")
    assert _answers(live) == {}


def test_undo_goes_one_step_back_and_the_suggestion_is_no_step(live: Any, tab: Any) -> None:
    """annotation 64, and back again after the page was loaded anew"""
    live.open(_project(live.folder, BETTER, {**AGE, "required": False}))
    _enter(tab, live)
    undo = tab.get_by_role("button", name="Undo")
    assert undo.is_disabled()
    for key in ("1", "2", "3"):
        tab.keyboard.press(key)
        _sent(tab)  # what waits for another answer is joined by the next, and so are their steps
    tab.keyboard.press("z")
    assert tab.get_by_label("The second is better").is_checked()
    _sent(tab)
    tab.reload()
    _item(tab, 1)
    tab.keyboard.press("z")
    assert tab.get_by_label("The first is better").is_checked()
    tab.keyboard.press("Delete")  # clearing is a step like others
    assert tab.locator(".question input:checked").count() == 0
    undo_after_clear = tab.get_by_label("The first is better")
    _sent(tab)
    assert _answers(live) == {}
    undo.click()
    assert undo_after_clear.is_checked()
    undo.click()
    assert tab.locator(".question input:checked").count() == 0
    assert undo.is_disabled()
    _sent(tab)
    assert _answers(live) == {}
    first, second = Pairwise.model_validate(BETTER).shown_as("ann", "i1")
    assert _history(live, "better") == [first, second, "tie", second, first, None, first, None]


def test_undo_gives_back_what_is_no_longer_in_the_project(live: Any, tab: Any) -> None:
    """annotation 19: one label, one of several, and marks in the text"""
    mood = {"annotation_type": "radio", "name": "mood", "description": "How?", "labels": ["up", "down", "flat"]}
    about = {
        "annotation_type": "multiselect",
        "name": "about",
        "description": "What?",
        "labels": ["size", "colour", "price"],
    }
    who = {"annotation_type": "span", "name": "who", "description": "Who?", "labels": ["person", "thing", "place"]}
    stretch = {"start": 0, "end": 3, "label": "person", "text": HEBREW[:3]}
    before = {"mood": "flat", "about": ["size", "price"], "who": [stretch, {**stretch, "label": "place"}]}
    live.open(_project(live.folder, mood, about, who))
    _enter(tab, live)
    live.stop()
    database = Database(live.project.database_url)
    with database.write() as connection:
        user = connection.execute(select(users.c.id)).scalar_one()
        at = "2026-11-29T12:00:00.000Z"
        record(connection, [Entry(1, user, name, value, at, "page") for name, value in before.items()])
    database.close()
    live.open(_project(live.folder, *({**scheme, "labels": scheme["labels"][:2]} for scheme in (mood, about, who))))
    tab.goto(f"{live.url}annotate/1")
    _item(tab, 1)
    assert tab.get_by_text("no longer in the project. It is kept until you change your answer.").count() == 3
    for change in (tab.get_by_label("up").check, tab.get_by_label("size").uncheck, tab.get_by_label("Nothing").check):
        change()
        _sent(tab)
    assert _answers(live) == {"mood": "up", "who": []}
    for _ in before:
        tab.keyboard.press("z")
        _sent(tab)
    assert _answers(live) == before
    assert tab.get_by_label("size").is_checked()
    assert not tab.get_by_label("up").is_checked()


def test_a_suggestion_is_taken_undone_and_restored(live: Any, tab: Any) -> None:
    """annotation 64: clearing gives nothing, not the suggestion, which is brought back by a button of its own."""
    shown = {"schemas": ["clear", "age", "why"], "include_unlabeled": True}
    schemes = (CLEAR, {**AGE, "required": False}, WHY)
    project = _project(live.folder, *schemes, model_training={"writeback": shown})
    _suggest(project, {"clear": 7.2, "age": 3.4, "why": "so it is"})
    live.open(project)
    _enter(tab, live)
    tab.get_by_text("The model suggests 7").wait_for()
    assert tab.locator("output").inner_text() == "\u2013"
    assert _answers(live) == {}
    tab.keyboard.press("a")
    _sent(tab)
    assert _answers(live) == {"clear": 7, "age": 3.5, "why": "so it is"}
    assert tab.get_by_role("button", name="Take it").count() == 0  # they are taken
    tab.locator("textarea.text-field").fill("no")
    tab.locator("textarea.text-field").blur()
    _sent(tab)
    tab.get_by_role("button", name="Clear").last.click()
    _sent(tab)
    assert _answers(live) == {"clear": 7, "age": 3.5}
    assert tab.locator("textarea.text-field").input_value() == ""
    tab.get_by_role("button", name="Take it").click()
    assert tab.locator("textarea.text-field").input_value() == "so it is"
    tab.locator("#item").focus()
    for there in ("", "no", "so it is", ""):
        tab.keyboard.press("z")
        assert tab.locator("textarea.text-field").input_value() == there
    _sent(tab)
    assert _answers(live) == {}
    assert tab.get_by_role("button", name="Undo").is_disabled()
    origins = live.rows(select(history.c.scheme, history.c.origin).order_by(history.c.seq).limit(4))
    assert origins == [("clear", "accepted"), ("age", "accepted"), ("why", "accepted"), ("why", "changed")]


def test_a_hidden_answer_stays_on_the_page_and_leaves_the_store(live: Any, tab: Any) -> None:
    rude = {**scenes.SENTIMENT, "name": "rude", "labels": ["yes", "no"]}
    sure = {**scenes.SENTIMENT, "name": "sure", "labels": ["sure", "unsure"], "show_if": {"rude": "yes"}}
    live.open(_project(live.folder, {**WHY, "required": True, "show_if": {"sure": "unsure"}}, rude, sure))
    _enter(tab, live)
    why = tab.locator("textarea.text-field")
    tab.get_by_label("yes").check()
    tab.get_by_label("unsure").check()
    why.fill("guess")
    tab.get_by_role("radio", name="no", exact=True).check()
    assert not why.is_visible()
    _sent(tab)
    assert _answers(live) == {"rude": "no"}
    tab.get_by_label("yes").check()
    assert why.input_value() == "guess"
    _sent(tab)
    assert _answers(live) == {"rude": "yes", "sure": "unsure", "why": "guess"}
    tab.get_by_role("radio", name="no", exact=True).check()
    tab.keyboard.press("Enter")
    _item(tab, 2)
    assert _answers(live) == {"rude": "no"}


def test_what_is_typed_through_a_bad_hour_arrives_once_and_in_order(live: Any, tab: Any) -> None:
    """annotation 25 and 26: the network drops, the server comes back with another secret, the session is over."""
    live.open(_project(live.folder, BETTER, AGE, WHY))
    _enter(tab, live)
    tab.keyboard.press("1")
    _state(tab, "Saved at")
    tab.context.set_offline(True)
    tab.keyboard.press("2")
    _state(tab, "Not saved: no connection.")
    live.stop(kill=True)
    tab.locator(".number-field").fill("7")
    tab.locator("textarea.text-field").fill("rain")
    _change_secret(live)
    live.start()
    tab.context.set_offline(False)
    tab.locator("dialog#sign-in-again[open]").wait_for()
    assert _answers(live)["better"] == Pairwise.model_validate(BETTER).shown_as("ann", "i1")[0]
    tab.keyboard.press("Enter")  # the name is filled in
    _state(tab, "Saved at")
    _sent(tab)
    first, second = Pairwise.model_validate(BETTER).shown_as("ann", "i1")
    assert _answers(live) == {"better": second, "age": 7, "why": "rain"}
    assert _history(live, "better") == [first, second]
    assert (_history(live, "age"), _history(live, "why")) == ([7], ["rain"])


def _suggest(project: Project, said: dict[str, Any]) -> None:
    """Let a model suggest these answers for the first item."""
    at = "2026-11-29T14:15:00.000Z"
    database = Database(project.database_url)
    with database.write() as connection:
        trained = list(said)
        runs.add(connection, Run("r1", State.SUCCESS, "fake", trained, {}, "api", "local", "local", at))
        predictions.add(connection, "r1", [Stored(1, name, answer, None, None, None) for name, answer in said.items()])
        predictions.set_live(connection, "r1", trained, at)
    database.close()


def _change_secret(live: Any) -> None:
    database = Database(live.project.database_url)
    with database.write() as connection:
        keys = connection.execute(select(facts.c.value).where(facts.c.name == "session_keys")).scalar_one()
        changed = {**keys, "secret": "another secret"}
        connection.execute(update(facts).where(facts.c.name == "session_keys").values(value=changed))
    database.close()
