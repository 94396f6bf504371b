"""Automatic retraining as an admin sees it: what is waited for, what was decided, and the way past a refusal."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import browsing
from lab import Lab, use_fakes
from potato.store import annotations, users
from potato.store.annotations import Save
from potato.store.rules import Rules

pytestmark = pytest.mark.browser


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: Any) -> Lab:
    """60 items; a run starts by itself after 40 answers, and no model is good enough."""
    use_fakes(monkeypatch)
    training = {
        "writeback": {"schemas": ["sentiment"], "include_unlabeled": True, "min_score": 0.99},
        "auto_retrain": {"enabled": True, "trainer": "fake", "schemas": ["sentiment"], "update_frequency": 40},
    }
    return Lab(tmp_path, model_training=training)


def _answer(lab: Lab, items: range) -> None:
    now = datetime.now(timezone.utc)
    with lab.database.write() as connection:
        user = users.ensure(connection, "ann", now)
        for n in items:
            answer = {"sentiment": ("positive", "negative")[n % 2]}
            annotations.save(connection, Save(user=user, item=n + 1, answers=answer, at=now), Rules.of(lab.project))


def test_it_is_watched_and_overridden(lab: Lab, live: Any, tabs: Any) -> None:
    """annotation 52, 56"""
    _answer(lab, range(38))
    live.open(lab.project)
    tab = tabs.open()
    browsing.enter_admin(tab, live.url, "lab-key")
    _open(tab, live)
    tab.get_by_text("Waiting for 2 more annotations.").wait_for()
    _answer(lab, range(38, 39))
    tab.get_by_text("Waiting for 1 more annotation.").wait_for()  # without a reload
    _answer(lab, range(39, 40))
    decisions = tab.locator("[data-part=decisions]")
    decisions.get_by_text("40 annotations came in, and no run has trained on sentiment yet").wait_for()
    decisions.get_by_text("this model's suggestions are not shown").wait_for()
    tab.locator("[data-waits]").get_by_text("Waiting for 40 more annotations; waiting").wait_for()
    decisions.get_by_role("link").first.click()
    tab.locator(".takeover", has_text="Not shown: sentiment.").wait_for()
    browsing.ready(tab)
    tabs.expected.append("Show this run's suggestions to annotators")
    tab.get_by_role("button", name="Show anyway").click()
    tab.get_by_text("suggestions are shown now.").wait_for()
    tab.locator(".takeover", has_text="Shown anyway: sentiment.").wait_for()
    address = tab.url
    for width, scheme in ((360, "dark"), (1280, "light")):
        view = tabs.open(viewport={"width": width, "height": 800}, color_scheme=scheme)
        browsing.enter_admin(view, live.url, "lab-key")
        for name, path in (("training", f"{live.url}admin/training"), ("run", address)):
            view.goto(path)
            browsing.ready(view)
            browsing.check_access(view, f"{name}, {width}")
            if shots := os.environ.get("POTATO_SCREENSHOTS"):
                view.screenshot(path=f"{shots}/retraining-{name}-{width}.png", full_page=True)


def _open(tab: Any, live: Any) -> None:
    tab.goto(f"{live.url}admin/training")
    browsing.ready(tab)
