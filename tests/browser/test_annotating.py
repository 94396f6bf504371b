"""The annotation page in a real browser, before a real server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select, update

import browsing
import site_scenes as scenes
from potato.store import Database
from potato.store.tables import annotation_history, assignments, facts, users
from potato.store.tables import annotations as answers

pytestmark = pytest.mark.browser

EVIL = ["<img src=x onerror=alert(1)>", "a<b && c", "</script><script>alert(2)</script>"]


def _enter(tab: Any, live: Any, name: str = "ann") -> None:
    browsing.sign_in(tab, live.url, name)
    _item(tab, 1)


def _item(tab: Any, seq: int) -> None:
    """Wait until the page shows that item and is ready for keys."""
    tab.locator(f'#work[data-item="{seq}"]:not([aria-busy="true"])').wait_for()
    browsing.ready(tab)


def _state(tab: Any, text: str) -> None:
    try:
        tab.locator("#save-state", has_text=text).wait_for()
    except Exception as error:
        shown = tab.locator("main").inner_text(), tab.locator("#save-state").text_content()
        raise AssertionError(f"the page does not say {text!r}; it shows {shown}") from error


def _answers(live: Any) -> list[tuple[Any, ...]]:
    query = select(answers.c.item, answers.c.scheme, answers.c.value).order_by(answers.c.item, answers.c.scheme)
    return [tuple(row) for row in live.rows(query)]


def _written(live: Any) -> int:
    return int(live.rows(select(func.count()).select_from(annotation_history))[0][0])


def test_labelling_by_keyboard_alone(live: Any, tab: Any) -> None:
    live.serve(["first", "second", "third", "fourth"])
    _enter(tab, live)
    tab.keyboard.press("2")  # negative
    tab.keyboard.press("6")  # one star
    tab.keyboard.press("3")  # food
    _state(tab, "Saved at")
    tab.keyboard.press("Enter")
    _item(tab, 2)
    assert tab.url.endswith("/annotate/2")
    _state(tab, "Saved at")  # the one before, for the reader's peace
    assert tab.evaluate("document.activeElement.id") == "item"
    tab.keyboard.press("1")
    tab.keyboard.press("ArrowLeft")
    _item(tab, 1)
    assert tab.locator("input:checked").count() == 4  # three answers, and the switch of the keys
    tab.keyboard.press("1")  # positive after all
    tab.keyboard.press("Enter")
    _item(tab, 2)
    tab.keyboard.press("ArrowRight")
    _item(tab, 3)
    tab.keyboard.press("s")
    tab.locator("dialog#skip[open]").wait_for()
    tab.keyboard.type("1s? not a review")  # no key acts while one types
    tab.keyboard.press("Tab")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    _item(tab, 4)
    assert tab.locator("#progress").inner_text().split() == ["You:", "2", "done", "All:", "2", "of", "4"]
    assert _answers(live) == [
        (1, "sentiment", "positive"),
        (1, "stars", 1),
        (1, "topics", ["food"]),
        (2, "sentiment", "positive"),
    ]
    assert live.rows(select(assignments.c.reason).where(assignments.c.state == "skipped")) == [("1s? not a review",)]


def test_going_on_asks_for_nothing_as_the_next_item_came_with_the_answer(live: Any, tab: Any) -> None:
    live.serve(["first", "second", "third"])
    _enter(tab, live)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url.removeprefix(live.url)))
    for seq in (1, 2):
        tab.keyboard.press("1")
        tab.keyboard.press("Enter")
        _item(tab, seq + 1)
    assert asked == ["annotate/1/answers", "annotate/2/answers"]
    assert tab.url.endswith("/annotate/3")
    assert tab.title() == "Item i3 \u2013 Reviews"
    tab.go_back()
    _item(tab, 2)
    assert tab.locator(".question input:checked").count() == 1
    tab.keyboard.press("Enter")
    _item(tab, 3)


def test_an_item_that_the_server_cannot_show_at_once_is_asked_for_again(live: Any, tab: Any) -> None:
    live.serve(["first", "second"])
    _enter(tab, live)
    troubles = [503]

    def answer(route: Any) -> None:
        route.fulfill(status=troubles.pop()) if troubles else route.continue_()

    tab.route("**/annotate", answer)
    tab.keyboard.press("s")
    tab.get_by_role("button", name="Skip it").click()
    _item(tab, 2)
    assert troubles == []
    troubles += [503] * 3
    tab.keyboard.press("s")
    tab.keyboard.press("Control+Enter")
    _state(tab, "The server could not show the item. Try again in a moment.")


def test_the_keys_are_listed_and_can_be_switched_off(live: Any, tab: Any) -> None:
    live.serve()
    _enter(tab, live)
    tab.keyboard.press("?")
    tab.get_by_role("heading", name="Keys").wait_for()
    tab.get_by_label("Letters and numbers act as keys").uncheck()
    tab.keyboard.press("Escape")
    tab.locator("dialog#help").wait_for(state="hidden")
    tab.keyboard.press("1")
    tab.reload()
    _item(tab, 1)
    tab.keyboard.press("1")
    assert tab.locator(".question input:checked").count() == 0
    tab.get_by_role("button", name="Keys").click()
    tab.get_by_label("Letters and numbers act as keys").check()
    tab.keyboard.press("Escape")
    tab.locator("dialog#help").wait_for(state="hidden")
    tab.keyboard.press("1")
    assert tab.locator(".question input:checked").count() == 1


def test_enter_without_an_answer_says_what_is_missing(live: Any, tab: Any) -> None:
    live.serve()
    _enter(tab, live)
    tab.keyboard.press("Enter")
    tab.get_by_text("Choose an answer, or skip this item.").wait_for()
    tab.keyboard.press("ArrowRight")
    _state(tab, "There is no other item yet")
    assert tab.url.endswith("/annotate/1")
    tab.keyboard.press("1")
    assert not tab.get_by_text("Choose an answer, or skip this item.").is_visible()


def test_an_answer_given_without_a_connection_stays_and_lands_once(live: Any, tab: Any) -> None:
    live.serve()
    _enter(tab, live)
    tab.context.set_offline(True)
    tab.keyboard.press("1")
    _state(tab, "Not saved: no connection. Kept in this browser, sent again by itself.")
    tab.keyboard.press("Enter")
    _state(tab, "Not saved")
    tab.keyboard.press("ArrowRight")  # cannot be loaded; what is not saved is told all the same
    _state(tab, "Not saved: no connection.")
    assert _answers(live) == []
    tab.context.set_offline(False)
    _state(tab, "Saved at")
    assert _answers(live) == [(1, "sentiment", "positive")]
    assert _written(live) == 1


def test_an_answer_given_while_the_server_was_killed_survives_a_reload_and_lands_once(live: Any, tab: Any) -> None:
    live.serve()
    _enter(tab, live)
    live.stop(kill=True)
    tab.keyboard.press("2")
    _state(tab, "Not saved")
    live.start()
    tab.reload()
    _item(tab, 1)
    assert tab.locator("input:checked + .choice-text").first.inner_text() == "negative"
    _state(tab, "Saved at")
    assert _answers(live) == [(1, "sentiment", "negative")]
    assert _written(live) == 1


def _reload_with_a_late_script(tab: Any) -> Callable[[], None]:
    """Load the page anew without its script; the script comes when the function returned is called."""
    held: list[Any] = []
    tab.route("**/annotate.js*", lambda route: held.append(route))
    tab.reload(wait_until="commit")
    tab.locator(".question").last.wait_for()

    def release() -> None:
        assert tab.locator("html[data-ready]").count() == 0
        held[0].continue_()
        browsing.ready(tab)

    return release


def test_a_choice_made_before_the_page_listens_is_saved(live: Any, tab: Any) -> None:
    live.serve()
    _enter(tab, live)
    release = _reload_with_a_late_script(tab)
    tab.get_by_label("negative").check()
    release()
    _state(tab, "Saved at")
    assert _answers(live) == [(1, "sentiment", "negative")]
    release = _reload_with_a_late_script(tab)
    tab.get_by_label("positive").check()
    tab.get_by_label("None of these").check()
    release()
    _state(tab, "Saved at")
    assert _answers(live) == [(1, "sentiment", "positive"), (1, "topics", [])]


def test_a_choice_made_before_the_page_listens_beats_what_was_kept(live: Any, tab: Any) -> None:
    live.serve()
    _enter(tab, live)
    tab.route("**/answers", lambda route: route.abort())
    tab.get_by_label("negative").check()
    tab.get_by_label("food").check()
    _state(tab, "Not saved")
    tab.unroute("**/answers")
    release = _reload_with_a_late_script(tab)
    tab.get_by_label("positive").check()
    release()
    browsing.until(tab, "() => !localStorage.length")
    assert tab.get_by_label("food").is_checked()
    assert _answers(live) == [(1, "sentiment", "positive"), (1, "topics", ["food"])]


def test_an_expired_session_keeps_the_answer_and_signs_in_in_place(live: Any, tab: Any) -> None:
    """annotation 25: the server comes back with another secret in the middle."""
    live.serve()
    _enter(tab, live)
    live.stop(kill=True)
    _change_secret(live)
    live.start()
    tab.keyboard.press("1")
    tab.get_by_text("Your answer is kept in this browser.").wait_for()
    _state(tab, "Not saved: your session has ended.")
    assert _answers(live) == []
    tab.keyboard.press("Enter")  # the name is filled in
    _state(tab, "Saved at")
    assert tab.url.endswith("/annotate/1")
    assert (_answers(live), _written(live)) == ([(1, "sentiment", "positive")], 1)
    assert live.rows(select(users.c.name)) == [("ann",)]


def test_enter_with_an_expired_session_goes_on_after_signing_in(live: Any, tab: Any) -> None:
    live.serve()
    _enter(tab, live)
    tab.context.clear_cookies()
    tab.keyboard.press("1")
    tab.locator("dialog#sign-in-again[open]").wait_for()
    tab.keyboard.press("Escape")
    tab.locator("dialog#sign-in-again").wait_for(state="hidden")
    tab.keyboard.press("Enter")
    tab.locator("dialog#sign-in-again[open]").wait_for()
    tab.keyboard.press("Enter")
    _item(tab, 2)
    assert (_answers(live), _written(live)) == ([(1, "sentiment", "positive")], 1)


def test_another_annotator_in_the_same_browser_does_not_get_the_answers(live: Any, tab: Any) -> None:
    """annotation 36, the browser's side"""
    live.serve()
    _enter(tab, live)
    tab.context.set_offline(True)
    tab.keyboard.press("1")
    _state(tab, "Not saved")
    tab.context.clear_cookies()
    tab.context.set_offline(False)
    tab.locator("dialog#sign-in-again[open] input").fill("bob")
    tab.keyboard.press("Enter")
    tab.locator("#work[data-annotator=bob]").wait_for()
    _item(tab, 2)  # item 1 is ann's still
    assert tab.locator(".question input:checked").count() == 0
    assert _answers(live) == []
    tab.get_by_role("button", name="Sign out").click()
    tab.locator("#name").fill("ann")
    tab.keyboard.press("Enter")
    _item(tab, 1)
    _state(tab, "Saved at")
    assert _answers(live) == [(1, "sentiment", "positive")]


def test_a_key_held_down_and_a_double_enter_do_it_once(live: Any, tab: Any) -> None:
    """annotation 28"""
    live.serve()
    _enter(tab, live)
    for _ in range(4):
        tab.keyboard.down("3")  # an even number of times: a checkbox that followed each would be empty again
    tab.keyboard.up("3")
    assert tab.get_by_label("food").is_checked()
    tab.keyboard.press("1")
    for _ in range(5):
        tab.keyboard.down("Enter")
    tab.keyboard.up("Enter")
    _item(tab, 2)
    tab.locator("#save-state:not([data-state=saving])").wait_for(state="attached")
    assert _answers(live) == [(1, "sentiment", "positive"), (1, "topics", ["food"])]
    tab.locator("[data-action=next]").dblclick()
    tab.get_by_text("Choose an answer, or skip this item.").wait_for()
    assert tab.url.endswith("/annotate/2")


def test_none_of_these_and_the_labels_exclude_each_other(live: Any, tab: Any) -> None:
    live.serve()
    _enter(tab, live)
    none = tab.get_by_label("None of these")
    tab.get_by_label("food").check()
    none.check()
    assert not tab.get_by_label("food").is_checked()
    _state(tab, "Saved at")
    tab.reload()
    _item(tab, 1)
    assert none.is_checked()
    tab.get_by_label("service").check()
    assert not none.is_checked()
    tab.get_by_role("button", name="Clear").first.click()
    browsing.until(tab, "() => !localStorage.length")
    assert _answers(live) == []


def test_a_question_that_hangs_on_another_comes_and_goes_with_it(live: Any, tab: Any) -> None:
    why = {**scenes.STARS, "required": True, "show_if": {"sentiment": "negative"}}
    live.serve(annotation_schemes=[scenes.SENTIMENT, why])
    _enter(tab, live)
    stars = tab.get_by_role("group", name="How many stars?")
    assert not stars.is_visible()
    tab.keyboard.press("2")
    stars.wait_for()
    tab.keyboard.press("Enter")
    tab.get_by_text("Choose an answer, or skip this item.").wait_for()
    tab.keyboard.press("5")
    tab.keyboard.press("1")
    assert not stars.is_visible()
    tab.keyboard.press("Enter")
    _item(tab, 2)
    assert _answers(live) == [(1, "sentiment", "positive")]


@pytest.mark.parametrize("evil", EVIL)
def test_markup_is_text_wherever_it_stands(live: Any, tab: Any, evil: str) -> None:
    """annotation 17"""
    question = {
        **scenes.SENTIMENT,
        "name": evil,
        "description": evil,
        "labels": [evil, {"name": "b", "description": evil}],
    }
    live.serve([evil], annotation_task_name=evil, annotation_schemes=[question, scenes.STARS])
    _enter(tab, live, evil)
    assert tab.locator(".item-text").text_content() == evil
    assert tab.locator("legend").first.text_content().strip() == evil
    assert tab.locator(".choice-text").first.text_content() == evil
    assert tab.locator(".who-name").text_content() == evil
    assert tab.title() == f"Item i1 \u2013 {evil}"
    tab.keyboard.press("1")
    _state(tab, "Saved at")
    tab.keyboard.press("Enter")
    tab.get_by_text("Everything is annotated.").wait_for()
    browsing.enter_admin(tab, live.url, scenes.KEY)
    tab.locator("#agreement table").wait_for()
    assert evil in tab.locator("#agreement table").text_content()
    assert tab.locator("main img, main script").count() == 0


def test_the_page_at_the_end_looks_for_more_items(live: Any, tab: Any) -> None:
    live.serve(["one"])
    _enter(tab, live, "one")
    tab.keyboard.press("1")
    _state(tab, "Saved at")
    tab.keyboard.press("Enter")
    tab.get_by_text("Everything is annotated.").wait_for()
    rows = [{"id": "i1", "text": "one"}, {"id": "i2", "text": "two"}]
    (live.folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    subprocess.run([sys.executable, "-m", "potato", "items", "add", str(live.project.file)], check=True)
    tab.get_by_role("button", name="Look again").or_(tab.get_by_role("link", name="Look again")).click()
    tab.locator(".item-text", has_text="two").wait_for()


def test_the_text_in_the_browser_equals_the_text_in_the_data(live: Any, tab: Any) -> None:
    text = "\n two  spaces\tand\r\na tab\u00a0\U0001f4a9 \U0001f469\u200d\u2764\ufe0f e\u0301 \U0001d518 end"
    live.serve([text])
    _enter(tab, live)
    assert tab.evaluate("document.querySelector('.item-text').textContent") == text
    assert tab.evaluate("getComputedStyle(document.querySelector('.item-text')).whiteSpaceCollapse") == "preserve"


def test_a_label_that_left_the_project_meanwhile_is_refused_and_kept(live: Any, tab: Any) -> None:
    """annotation 20"""
    live.serve()
    _enter(tab, live)
    live.stop()
    settings = json.loads(live.project.file.read_text("utf-8"))
    settings["annotation_schemes"][0]["labels"] = ["good", "bad"]
    live.project.file.write_text(json.dumps(settings), "utf-8")
    live.start()
    tab.keyboard.press("1")
    tab.get_by_text("Not saved: 'positive' is not a label of 'sentiment'; it takes good, bad.").wait_for()
    tab.get_by_text("The answer is kept in this browser.").wait_for()
    tab.get_by_role("button", name="Give it up and load the item anew").click()
    tab.get_by_label("good").wait_for()
    browsing.ready(tab)
    tab.get_by_label("good").check()
    _state(tab, "Saved at")
    assert _answers(live) == [(1, "sentiment", "good")]


def test_leaving_with_an_unsaved_answer_warns(live: Any, tab: Any) -> None:
    """annotation 26"""
    live.serve()
    asked: list[str] = []
    tab.on("dialog", lambda dialog: asked.append(dialog.type))
    _enter(tab, live)
    tab.context.set_offline(True)
    tab.locator("label.choice").first.click()
    _state(tab, "Not saved")
    with tab.expect_event("close"):
        tab.close(run_before_unload=True)
    assert asked == ["beforeunload"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_meet_wcag_and_never_scroll_sideways(live: Any, tabs: Any, scheme: str, width: int) -> None:
    live.serve(["a" * 300, "two", "three"], guidelines="items.jsonl")
    tab = tabs.open(viewport={"width": width, "height": 800}, color_scheme=scheme)

    def check(name: str) -> None:
        browsing.check_access(tab, name)

    tab.goto(live.url)
    check("sign-in")
    _enter(tab, live)
    check("item")
    tab.keyboard.press("g")
    tab.keyboard.press("1")
    _state(tab, "Saved at")
    check("answered, with the guidelines")
    tab.keyboard.press("?")
    check("keys")
    tab.keyboard.press("Escape")
    tab.goto(f"{live.url}admin")
    check("admin key")
    browsing.give_key(tab, scenes.KEY)
    tab.locator("#agreement table").wait_for()
    check("overview")
    tab.goto(f"{live.url}nowhere")
    check("not found")


def _change_secret(live: Any) -> None:
    database = Database(live.project.database_url)
    with database.write() as connection:
        keys = connection.execute(select(facts.c.value).where(facts.c.name == "session_keys")).scalar_one()
        changed = {**keys, "secret": "another secret"}
        connection.execute(update(facts).where(facts.c.name == "session_keys").values(value=changed))
    database.close()
