"""The training pages in a real browser, before a real server that really trains."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import browsing
import training_scenes as scenes
from lab import Lab
from potato.store import annotations, tables, users
from potato.store.annotations import Save
from potato.store.rules import Rules
from potato.store.training.runs import State
from potato.training.runs.folder import RunFolder

pytestmark = [pytest.mark.browser, pytest.mark.computes]

EVIL = "<img src=x onerror=alert(1)> a<b && c </script>"
PRAISE = ("lovely", "great", "sturdy", "delightful", "perfect")
BLAME = ("awful", "broken", "flimsy", "dreadful", "useless")


def _rows(count: int) -> list[dict[str, str]]:
    return [{"id": f"r{n:03}", "text": _text(n)} for n in range(count)]


def _text(n: int) -> str:
    words = (PRAISE, BLAME)[n % 2]
    return f"A {words[n % 5]} and {words[(n // 5) % 5]} thing, number {n}"


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """150 reviews, of which the first 110 are labelled."""
    training = {"writeback": {"schemas": ["sentiment"], "include_unlabeled": True, "min_confidence": 0.0}}
    lab = Lab(tmp_path, _rows(150), model_training=training)
    now = datetime.now(timezone.utc)
    with lab.database.write() as connection:
        user = users.ensure(connection, "ann", now)
        for n in range(110):
            answer = {"sentiment": ("positive", "negative")[n % 2]}
            annotations.save(connection, Save(user=user, item=n + 1, answers=answer, at=now), Rules.of(lab.project))
    return lab


def _enter(tab: Any, address: str) -> None:
    browsing.enter_admin(tab, address, "lab-key")
    _open(tab, f"{address}admin/training")


def _open(tab: Any, address: str) -> None:
    """Go to a page of training and wait until it listens."""
    tab.goto(address)
    browsing.ready(tab)


def _tab_to(tab: Any, selector: str) -> None:
    """Reach an element as somebody without a mouse does."""
    for _ in range(80):
        if tab.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        tab.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {selector}")


def _start_by_keyboard(tab: Any) -> str:
    """Start a run with the form's settings; its id."""
    tab.evaluate("document.activeElement.blur()")
    before = tab.locator("[data-answer] a").all_text_contents()
    _tab_to(tab, "[data-start]")
    tab.keyboard.press("Enter")
    browsing.until(
        tab,
        "before => { const a = document.querySelector('[data-answer] a'); return a && a.textContent !== before }",
        before[0] if before else None,
    )
    return str(tab.locator("[data-answer] a").text_content()).removeprefix("Run ")


def _state(tab: Any, run_id: str, state: str) -> None:
    """Wait until the table says so, without a reload."""
    tab.locator(f"tr[data-row='{run_id}'] .badge", has_text=re.compile(f"^{state}$")).wait_for()


def test_a_run_is_started_watched_and_its_suggestion_taken_by_keyboard_alone(lab: Lab, live: Any, tab: Any) -> None:
    """annotation 51: a state is seen soon after the click (two seconds, on a machine at rest), later ones without a
    reload."""
    live.open(lab.project)
    _enter(tab, live.url)
    begun = time.monotonic()
    first = _start_by_keyboard(tab)
    tab.locator(f"[data-live][data-run='{first}'] .steps .active, tr[data-row='{first}'] .badge.ok").first.wait_for()
    assert time.monotonic() - begun < 30  # on a busy machine, and with the time to tab through the form
    _state(tab, first, "success")

    _open(tab, f"{live.url}admin/training/runs/{first}")
    text = tab.locator("main").inner_text()
    assert "Held-out score: sentiment" in text
    assert "Confusion matrix" in text
    assert "pre-labels are live now" in text
    assert "the worker has finished" in tab.locator("[data-log]").inner_text()

    _take_a_suggestion(tab, live.url)
    row = tables.annotations.c
    taken = lab.rows(
        tables.annotations.select().with_only_columns(row.value, row.suggestion).where(row.origin == "accepted")
    )
    assert len(taken) == 1
    assert taken[0].suggestion["run_id"] == first
    assert taken[0].value == taken[0].suggestion["payload"]


def _take_a_suggestion(tab: Any, address: str) -> None:
    """Sign in, answer by number until an item comes with a suggestion, and take that with its key."""
    browsing.sign_in(tab, address, "bea")
    for _ in range(40):
        here, suggested = tab.url, tab.locator(".suggestion").count() > 0
        tab.keyboard.press("a" if suggested else "1")
        tab.locator("#save-state", has_text="Saved at").wait_for()
        if suggested:
            return
        tab.keyboard.press("Enter")
        tab.wait_for_url(lambda url, here=here: url != here)
        tab.locator('#work:not([aria-busy="true"])').wait_for()
    raise AssertionError("no item came with a suggestion")


def test_a_waiting_run_is_cancelled_from_the_page_and_the_other_ends_well(lab: Lab, live: Any, tab: Any) -> None:
    live.open(lab.project)
    _enter(tab, live.url)
    first = _start_by_keyboard(tab)
    second = _start_by_keyboard(tab)
    tab.evaluate("document.activeElement.blur()")
    tab.locator(f"tr[data-row='{second}'] [data-cancel]").wait_for()
    _tab_to(tab, f"tr[data-row='{second}'] [data-cancel]")
    tab.keyboard.press("Enter")
    _state(tab, second, "cancelled")
    _state(tab, first, "success")


def test_a_check_shows_its_report_without_leaving_the_page(lab: Lab, live: Any, tab: Any) -> None:
    live.open(lab.project)
    _enter(tab, live.url)
    _tab_to(tab, "[data-check]")
    tab.keyboard.press("Enter")
    tab.locator("[data-report] .check-lines").wait_for()
    assert "local: this machine, " in tab.locator("[data-report]").inner_text()
    assert tab.url.endswith("/admin/training")


def test_markup_in_a_log_or_an_error_is_text_on_the_page(lab: Lab, live: Any, tab: Any) -> None:
    """annotation 17"""
    error = {"code": "trainer_failed", "message": EVIL, "hint": EVIL}
    run = replace(scenes.run(1, State.ERROR, error=error), started_by=EVIL, device=EVIL, warnings=[EVIL])
    with lab.database.write() as connection:
        scenes.add(connection, run)
    scenes.write_course(lab.project, run.run_id, lines=[EVIL])
    (RunFolder.of(lab.project, run.run_id).artifacts / "a<b>.bin").write_bytes(b"")
    live.open(lab.project)
    _enter(tab, live.url)
    _open(tab, f"{live.url}admin/training/runs/{run.run_id}")
    tab.locator(".chart canvas").first.wait_for()
    assert tab.locator("[data-log]").text_content().endswith(f"{EVIL}\n")
    assert tab.locator(".notice.bad .notice-what").text_content() == EVIL
    assert tab.locator("main img").count() == 0
    assert "a<b>.bin" in tab.locator("main").inner_text()
