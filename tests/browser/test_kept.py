"""What waits in a browser to be saved, when the browser, its clock or its user is not as one expects."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

import browsing
from potato.store.tables import annotation_history as history
from potato.store.tables import annotations as answers
from potato.store.tables import assignments

pytestmark = pytest.mark.browser

TEXTS = [f"text {n}" for n in range(1, 7)]
NO_STORAGE = (
    "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
)
NO_DATABASE = "Object.defineProperty(window, 'indexedDB', { get() { throw new DOMException('no', 'SecurityError'); } })"
CLOCK = "(() => { const now = Date.now; window.ahead = 0; Date.now = () => now() + window.ahead; })()"
FILL = """() => {
  for (const size of [1e5, 1e3, 1]) {
    try { for (let n = 0; ; n++) localStorage.setItem(`${size}:${n}`, "x".repeat(size)); } catch { /* full */ }
  }
}"""


def item(tab: Any, seq: int) -> None:
    """Wait until the page shows that item and is ready for keys."""
    tab.locator(f'#work[data-item="{seq}"]:not([aria-busy="true"])').wait_for()
    browsing.ready(tab)


def state(tab: Any, text: str) -> None:
    tab.locator("#save-state", has_text=text).wait_for()


def kept(live: Any) -> list[tuple[Any, ...]]:
    query = select(answers.c.item, answers.c.scheme, answers.c.value).order_by(answers.c.item, answers.c.scheme)
    return [tuple(row) for row in live.rows(query)]


class Held:
    """Keeps what is sent of answers on its way, until it is let go."""

    def __init__(self, sender: Any) -> None:
        self._routes: list[Any] = []
        self._free = False
        sender.route("**/answers", self._asked)

    def let_go(self) -> None:
        """From now on everything arrives."""
        self._free = True
        for route in self._routes:
            route.continue_()

    def _asked(self, route: Any) -> None:
        if self._free:
            route.continue_()
        else:
            self._routes.append(route)


def test_answers_arrive_in_the_order_in_which_they_were_given_whatever_clock_and_tabs_do(live: Any, tabs: Any) -> None:
    """annotation 25, 28: the clock is set back between two answers, and a second tab finds them."""
    live.serve(TEXTS)
    tab = tabs.open()
    tab.add_init_script(CLOCK)
    browsing.sign_in(tab, live.url, "ann")
    item(tab, 1)
    held = Held(tab.context)
    tab.keyboard.press("1")
    browsing.until(tab, "() => document.getElementById('save-state').dataset.state === 'saving'")
    tab.evaluate("window.ahead = -3600000")
    tab.keyboard.press("2")  # waits behind the first
    browsing.until(tab, "() => Object.keys(localStorage).filter((key) => key.includes(':draft:')).length === 2")
    second = tab.context.new_page()
    second.goto(f"{live.url}annotate/1")
    browsing.ready(second)
    assert second.get_by_label("negative").is_checked()
    second.get_by_label("food").check()  # an answer of its own, in no request that the first tab may be sending
    held.let_go()
    for each in (tab, second):
        state(each, "Saved at")
    browsing.until(second, "() => !Object.keys(localStorage).some((key) => key.includes(':draft:'))")
    assert kept(live) == [(1, "sentiment", "negative"), (1, "topics", ["food"])]
    order = select(history.c.value).where(history.c.scheme == "sentiment").order_by(history.c.seq)
    assert live.rows(order) == [("positive",), ("negative",)]


def test_a_browser_that_keeps_nothing_says_so_and_sends_all_the_same(live: Any, tabs: Any) -> None:
    """annotation 26"""
    live.serve(TEXTS, annotations_per_item=2)
    for name, forbidden in (("ann", True), ("bob", False)):
        tab = tabs.open()
        tab.add_init_script(NO_DATABASE)
        if forbidden:
            tab.add_init_script(NO_STORAGE)
        browsing.sign_in(tab, live.url, name)
        item(tab, 1)
        if not forbidden:
            tab.evaluate(FILL)
        tab.context.set_offline(True)
        tab.keyboard.press("1")
        state(tab, "Not saved: no connection. Kept on this page alone, so leave it open, sent again by itself.")
        tab.context.set_offline(False)
        state(tab, "Saved at")
    assert kept(live) == [(1, "sentiment", "positive"), (1, "sentiment", "positive")]


def test_where_the_local_storage_is_full_the_browsers_database_keeps_what_waits(live: Any, tab: Any) -> None:
    """annotation 26"""
    live.serve(TEXTS)
    browsing.sign_in(tab, live.url, "ann")
    item(tab, 1)
    tab.evaluate(FILL)
    answering = tab.context
    answering.route("**/answers", lambda route: route.abort())
    tab.keyboard.press("1")
    state(tab, "Not saved: no connection. Kept in this browser, sent again by itself.")
    tab.reload()
    item(tab, 1)
    assert tab.get_by_label("positive").is_checked()
    answering.unroute("**/answers")
    state(tab, "Saved at")
    assert kept(live) == [(1, "sentiment", "positive")]


def test_what_is_answered_in_one_tab_is_answered_in_the_other(live: Any, tabs: Any) -> None:
    live.serve(TEXTS)
    tab = tabs.open()
    browsing.sign_in(tab, live.url, "ann")
    item(tab, 1)
    other = tab.context.new_page()
    other.goto(f"{live.url}annotate/1")
    item(other, 1)
    for key in ("1", "2", "3"):
        tab.keyboard.press(key)
    alike(tab, other)
    other.keyboard.press("z")  # a step is a step, in whichever tab it was gone
    alike(other, tab)
    tab.keyboard.press("z")
    alike(tab, other)
    assert other.get_by_label("positive").is_checked()
    other.keyboard.press("Enter")
    item(other, 2)
    assert kept(live) == [(1, "sentiment", "positive")]


def alike(tab: Any, other: Any) -> None:
    """Wait until all is sent that was answered in one tab, and the other shows it."""
    chosen = "() => [...document.querySelectorAll('.question input:checked')].map((each) => each.id)"
    browsing.until(tab, "() => !localStorage.length")
    browsing.until(other, f"(wanted) => JSON.stringify(({chosen})()) === JSON.stringify(wanted)", tab.evaluate(chosen))


def test_who_goes_on_while_a_save_is_slow_loses_nothing_and_keeps_the_order(live: Any, tab: Any) -> None:
    live.serve(TEXTS)
    browsing.sign_in(tab, live.url, "ann")
    item(tab, 1)
    held = Held(tab)
    tab.keyboard.press("1")
    state(tab, "Saving")
    tab.keyboard.press("Enter")  # goes on once the answer is safe, and not before
    tab.locator('#work[data-item="1"][aria-busy="true"]').wait_for()
    assert kept(live) == []
    tab.keyboard.press("2")  # no key acts meanwhile
    held.let_go()
    item(tab, 2)
    slow = Held(tab)
    tab.keyboard.press("2")
    tab.keyboard.press("ArrowRight")  # who does not want to wait
    state(tab, "Your answer is still on its way; go on once it is saved.")
    tab.keyboard.press("ArrowLeft")  # to what was answered before, one may go
    item(tab, 1)
    tab.keyboard.press("2")
    slow.let_go()
    state(tab, "Saved at")
    wanted = [(1, "positive"), (2, "negative"), (1, "negative")]
    assert live.rows(select(history.c.item, history.c.value).order_by(history.c.seq)) == wanted


def test_a_skip_never_overtakes_the_answer_before_it(live: Any, tab: Any) -> None:
    live.serve(TEXTS)
    browsing.sign_in(tab, live.url, "ann")
    item(tab, 1)
    held = Held(tab)
    tab.keyboard.press("1")
    tab.keyboard.press("s")
    tab.locator("dialog#skip[open]").wait_for()
    tab.keyboard.type("of another language")
    tab.get_by_role("button", name="Skip it").click()
    browsing.until(tab, "() => document.querySelector('#skip .primary').disabled")
    held.let_go()
    item(tab, 2)
    standing = select(assignments.c.state, assignments.c.reason).where(assignments.c.item == 1)
    assert live.rows(standing) == [("skipped", "of another language")]


def test_somebody_else_signs_in_in_another_tab(live: Any, tabs: Any) -> None:
    """annotation 36: a page that is left open shows nothing of the other, and loses nothing of its own."""
    live.serve(TEXTS)
    tab = tabs.open()
    browsing.sign_in(tab, live.url, "ann")
    item(tab, 1)
    other = tab.context.new_page()
    other.goto(live.url)
    browsing.ready(other)
    other.get_by_role("button", name="Sign out").click()
    browsing.sign_in(other, live.url, "bob")
    item(other, 2)
    tab.keyboard.press("1")
    tab.locator("dialog#sign-in-again[open]").wait_for()
    state(tab, "Not saved: your session has ended. Kept in this browser until you sign in.")
    tab.keyboard.press("Escape")
    tab.locator("dialog#sign-in-again").wait_for(state="hidden")
    tab.keyboard.press("ArrowRight")  # what comes is bob's page, whole, and no item of his under ann's name
    tab.locator("#work[data-annotator=bob]").wait_for()
    assert tab.locator(".who-name").inner_text() == "bob"
    item(tab, 2)
    assert kept(live) == []
    other.get_by_role("button", name="Sign out").click()
    browsing.sign_in(other, live.url, "ann")
    item(other, 1)
    state(other, "Saved at")
    assert kept(live) == [(1, "sentiment", "positive")]
    tab.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))")  # kept by the browser
    tab.get_by_text("Item number 2 was not given to you").wait_for()
