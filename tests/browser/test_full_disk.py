"""The server's disk fills while somebody annotates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import browsing
from potato.store.tables import annotations
from small_disk import small_disk

pytestmark = [pytest.mark.browser, pytest.mark.sqlite("fills the disk of SQLite's own file")]


def test_an_answer_waits_in_the_browser_until_there_is_room(live: Any, tab: Any, tmp_path: Path) -> None:
    """annotation 34: and the page says that it is not saved, and why."""
    with small_disk(tmp_path / "annotation_output", 4) as disk:
        live.serve()
        browsing.sign_in(tab, live.url, "ann")
        disk.fill()
        tab.keyboard.press("1")
        tab.get_by_text("Not saved: the server's disk is full. Kept in this browser, sent again by itself.").wait_for()
        assert live.rows(select(annotations.c.value)) == []
        disk.empty()
        tab.locator('#save-state[data-state="saved"]').wait_for()
        assert live.rows(select(annotations.c.value)) == [("positive",)]
        live.stop()
