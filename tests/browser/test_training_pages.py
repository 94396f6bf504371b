"""The training pages in a real browser: what they do beside following a run, and that everyone can use them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import browsing
import training_scenes as scenes
from lab import Lab, use_fakes
from potato.store.training.runs import State
from potato.training.runs.model import live_prelabels

pytestmark = pytest.mark.browser

WRITEBACK = {"schemas": ["sentiment"], "include_unlabeled": True, "min_confidence": 0.0}


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: Any) -> Lab:
    """60 items, of which 40 are labelled, and trainers that learn nothing."""
    use_fakes(monkeypatch)
    lab = Lab(tmp_path, model_training={"writeback": WRITEBACK})
    lab.label_alternately(lab.ids[:40])
    return lab


def _open(tab: Any, live: Any, path: str = "") -> None:
    tab.goto(f"{live.url}admin/training{path}")
    browsing.ready(tab)


def _start(tab: Any, seconds: str = "0") -> str:
    """Start the fake trainer with the form; the run's id."""
    tab.get_by_label("Trainer").select_option("fake")
    seconds_field = tab.locator("#param-fake-seconds")
    if not seconds_field.is_visible():
        tab.locator("summary", has_text="Params").click()
    seconds_field.fill(seconds)
    tab.get_by_role("button", name="Start run").click()
    answer = tab.locator("[data-answer] a")
    answer.wait_for()
    return str(answer.text_content()).removeprefix("Run ")


def _state(tab: Any, run_id: str, state: str) -> None:
    tab.locator(f"tr[data-row='{run_id}'] .badge", has_text=re.compile(f"^{state}$")).wait_for()


def test_where_streams_do_not_get_through_the_pages_ask_again_and_again(lab: Lab, live: Any, tab: Any) -> None:
    live.open(lab.project)
    refused: list[str] = []
    tab.route(re.compile(r"/stream(\?|$)"), lambda route: (refused.append(route.request.url), route.abort()))
    browsing.enter_admin(tab, live.url, "lab-key")
    _open(tab, live)
    run_id = _start(tab, "600")
    log = tab.locator(f"[data-live][data-run='{run_id}'] [data-log]")
    log.get_by_text("the fake begins: succeed").wait_for()
    count = "() => document.querySelector('[data-live] [data-count]').textContent"
    for _ in range(3):
        before = tab.evaluate(count)
        browsing.until(tab, f"before => ({count})() !== before", before)
    tab.locator(f"tr[data-row='{run_id}'] [data-cancel]").click()
    _state(tab, run_id, "cancelled")
    assert any(run_id in url for url in refused)
    assert any(run_id not in url for url in refused)


def test_a_run_is_run_again_as_it_was(lab: Lab, live: Any, tab: Any) -> None:
    live.open(lab.project)
    browsing.enter_admin(tab, live.url, "lab-key")
    _open(tab, live)
    first = _start(tab, "0.5")
    _state(tab, first, "success")
    _open(tab, live, f"/runs/{first}")
    tab.get_by_role("button", name="Run again").click()
    tab.wait_for_url(lambda url: "/runs/" in url and first not in url)
    tab.locator("[data-part=badge]", has_text="success").wait_for()
    second = tab.url.rsplit("/", 1)[1]
    assert lab.run(second).params == lab.run(first).params
    assert lab.run(first).params["seconds"] == 0.5
    assert (lab.run(second).trainer, lab.run(second).schemas) == ("fake", ["sentiment"])


def test_suggestions_are_withdrawn_after_asking_and_annotators_see_them_no_longer(
    lab: Lab, live: Any, tabs: Any
) -> None:
    live.open(lab.project)
    tab, annotator = tabs.open(), tabs.open()
    browsing.enter_admin(tab, live.url, "lab-key")
    _open(tab, live)
    run_id = _start(tab)
    _state(tab, run_id, "success")
    _to_a_suggestion(annotator, live)
    _open(tab, live, f"/runs/{run_id}")
    tabs.expected.append("Withdraw this run's suggestions?")
    shown = live_prelabels(lab.run(run_id))
    tab.get_by_role("button", name="Withdraw pre-labels").click()
    tab.get_by_text(f"{shown} suggestions were withdrawn.").wait_for()
    tab.get_by_text("none of this run's pre-labels are live").wait_for()
    assert not tab.get_by_role("button", name="Withdraw pre-labels").is_visible()
    annotator.reload()
    browsing.ready(annotator)
    assert annotator.locator(".suggestion").count() == 0


def _to_a_suggestion(tab: Any, live: Any) -> None:
    """Go from item to item until one comes with a suggestion."""
    browsing.sign_in(tab, live.url, "bea")
    for _ in range(60):
        if tab.locator(".suggestion").count():
            return
        here = tab.url
        tab.keyboard.press("1")
        tab.keyboard.press("Enter")
        tab.wait_for_url(lambda url, here=here: url != here)
        tab.locator('#work:not([aria-busy="true"])').wait_for()
    raise AssertionError("no item came with a suggestion")


def test_pages_meet_wcag_and_never_scroll_sideways(lab: Lab, live: Any, tabs: Any) -> None:
    made = {state: f"/runs/{run.run_id}" for state, run in _add_runs(lab).items()}
    live.open(lab.project)
    looks = [{"viewport": _size(360), "color_scheme": "dark"}, {"viewport": _size(1280), "color_scheme": "light"}]
    views = [tabs.open(**look) for look in looks]
    for tab in views:
        browsing.enter_admin(tab, live.url, "lab-key")
        for state, path in made.items():
            _open(tab, live, path)
            if state is State.SUCCESS:
                tab.locator(".chart canvas").first.wait_for()
            browsing.check_access(tab, f"run: {state}")
    _open(tab, live)
    run_id = _start(tab, "600")
    for tab in views:
        _open(tab, live)
        tab.locator("summary", has_text="Params").click()
        tab.get_by_role("button", name="Check").click()
        tab.locator(".check-lines").wait_for()
        tab.locator(f"[data-live][data-run='{run_id}'] .chart canvas").first.wait_for()
        browsing.check_access(tab, "menu with a run that goes")
        _open(tab, live, f"/runs/{run_id}")
        tab.locator(".chart canvas").first.wait_for()
        browsing.check_access(tab, "run: running")


def _size(width: int) -> dict[str, int]:
    return {"width": width, "height": 800}


def _add_runs(lab: Lab) -> dict[State, Any]:
    """A run for each way to end, as if they had been."""
    error = {"code": "wall_time", "message": "The run was stopped after 60 seconds", "hint": "Raise max_wall_seconds."}
    best = scenes.succeeded(3, warnings=["The class 'mixed' has no example in the validation split."])
    made = {
        State.ERROR: scenes.run(1, State.ERROR, error=error),
        State.CANCELLED: scenes.run(2, State.CANCELLED),
        State.SUCCESS: best,
    }
    for run in made.values():
        scenes.write_course(lab.project, run.run_id)
    with lab.database.write() as connection:
        scenes.add(connection, *made.values(), live=best)
    return made


def test_the_empty_page_meets_wcag(lab: Lab, live: Any, tab: Any) -> None:
    live.open(lab.project)
    browsing.enter_admin(tab, live.url, "lab-key")
    _open(tab, live)
    tab.get_by_text("No run yet.").first.wait_for()
    browsing.check_access(tab, "empty menu")
