"""A suggestion is the same on every way to an item."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import browsing
import site_scenes as site
import training_scenes as scenes
from potato.store import Database
from potato.store.clock import to_text
from potato.store.training import predictions
from potato.store.training.predictions import Stored

pytestmark = pytest.mark.browser


def _serve(live: Any, folder: Path) -> None:
    training = {"enabled": True, "writeback": {"schemas": ["sentiment"], "include_unlabeled": True}}
    project = site.project(
        folder, ["one", "two", "three"], annotation_schemes=[site.SENTIMENT], model_training=training
    )
    database = Database(project.database_url)
    run = scenes.succeeded(1)
    with database.write() as connection:
        scenes.add(connection, run)
        rows = [Stored(n, "sentiment", "positive", 0.7 + n / 100, None, None) for n in (1, 2, 3)]
        predictions.add(connection, run.run_id, rows)
        predictions.set_live(connection, run.run_id, ["sentiment"], to_text(scenes.NOW))
    database.close()
    live.open(project)


def _suggested(tab: Any, item: int) -> None:
    """The page shows that item, with its suggestion and how sure it is."""
    tab.locator(f'#work[data-item="{item}"]:not([aria-busy="true"])').wait_for()
    tab.locator(".suggestion", has_text=f"positive, {70 + item}").wait_for()
    assert tab.locator(".suggestion").count() == 1


def test_first_next_back_forth_by_address_and_reloaded(live: Any, tab: Any, tmp_path: Path) -> None:
    """annotation 61"""
    _serve(live, tmp_path)
    browsing.sign_in(tab, live.url, "ann")
    _suggested(tab, 1)
    tab.keyboard.press("2")
    tab.keyboard.press("Enter")
    _suggested(tab, 2)
    tab.keyboard.press("ArrowLeft")
    _suggested(tab, 1)
    tab.keyboard.press("ArrowRight")
    _suggested(tab, 2)
    tab.reload()
    browsing.ready(tab)
    _suggested(tab, 2)
    tab.goto(f"{live.url}annotate/1")
    browsing.ready(tab)
    _suggested(tab, 1)
    tab.goto(f"{live.url}annotate")
    browsing.ready(tab)
    _suggested(tab, 2)
    browsing.enter_admin(tab, live.url, site.KEY)
    tab.goto(f"{live.url}admin/review?item=2")
    browsing.ready(tab)
    tab.locator(".suggestion", has_text="positive, 72").wait_for()
