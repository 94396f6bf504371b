"""A browser that is killed, as where the power fails, right after an answer that it could not send."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select

import browsing
from potato.store.tables import annotation_history as history
from potato.store.tables import annotations as answers

pytestmark = pytest.mark.browser


def test_what_could_not_be_sent_is_there_after_the_browser_was_killed(live: Any, profile: Any) -> None:
    """annotation 25, 26"""
    live.serve()
    tab = profile.open()
    browsing.sign_in(tab, live.url, "ann")
    tab.context.set_offline(True)
    tab.keyboard.press("2")
    tab.keyboard.press("3")
    tab.locator("#save-state", has_text="Not saved: no connection. Kept in this browser").wait_for()
    profile.kill()
    assert live.rows(select(answers.c.value)) == []
    tab = profile.open()
    browsing.sign_in(tab, live.url, "ann")
    assert tab.get_by_label("negative").is_checked()
    tab.locator("#save-state", has_text="Saved at").wait_for()
    assert live.rows(select(answers.c.value).order_by(answers.c.scheme)) == [("negative",), (["food"],)]
    assert live.rows(select(func.count()).select_from(history)) == [(2,)]
