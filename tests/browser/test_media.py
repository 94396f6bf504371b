"""Items' images and recordings in a real browser, by keys alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import browsing
import site_scenes as scenes
from media_files import picture, recording
from potato.store.tables import annotations as answers

pytestmark = pytest.mark.browser


def serve(live: Any) -> None:
    """Three items: an image with a recording; files that are not there; an image that is none."""
    folder: Path = live.folder
    (folder / "circle.svg").write_bytes(picture())
    (folder / "bells.wav").write_bytes(recording())
    (folder / "broken.png").write_bytes(b"no picture")
    rows = [
        {"id": "m1", "text": "", "image": "circle.svg", "seen": "A circle", "sound": "bells.wav"},
        {"id": "m2", "text": "two", "image": "lost.png", "sound": "lost.wav"},
        {"id": "m3", "text": "three", "image": "broken.png"},
    ]
    properties = {"image_key": "image", "image_alt_key": "seen", "audio_key": "sound"}
    live.open(scenes.project(folder, rows=rows, item_properties=properties))


def test_images_and_recordings_are_seen_heard_and_steered_by_keys(live: Any, tabs: Any) -> None:
    serve(live)
    tab = tabs.open()
    browsing.sign_in(tab, live.url, "ann")
    image = tab.get_by_alt_text("A circle")
    browsing.until(tab, "() => document.querySelector('.item-image').naturalWidth === 800")
    browsing.check_access(tab, "image and recording")
    width = image.bounding_box()["width"]
    tab.keyboard.press("+")
    tab.keyboard.press("+")
    browsing.until(tab, "() => document.querySelector('[data-zoom-state]').textContent === '200 %'")
    assert abs(image.bounding_box()["width"] - 2 * width) < 3
    browsing.check_access(tab, "enlarged")
    tab.locator("[data-image-frame]").focus()
    before = tab.evaluate("document.querySelector('[data-image-frame]').scrollLeft")
    tab.keyboard.press("ArrowRight")  # moves the image, not on to another item
    browsing.until(tab, "(before) => document.querySelector('[data-image-frame]').scrollLeft > before", before)
    tab.keyboard.press("-")
    tab.keyboard.press("-")
    browsing.until(tab, "() => document.querySelector('[data-zoom-state]').textContent === '100 %'")
    assert tab.get_by_role("button", name="Smaller").is_disabled()
    browsing.until(tab, "() => document.querySelector('audio').readyState > 0")
    assert tab.evaluate("document.querySelector('audio').duration") == 30
    tab.evaluate("document.querySelector('audio').currentTime = 12")
    tab.keyboard.press(",")
    browsing.until(tab, "() => document.querySelector('audio').currentTime === 7")
    tab.keyboard.press(".")
    browsing.until(tab, "() => !document.querySelector('audio').paused")
    tab.keyboard.press(".")
    browsing.until(tab, "() => document.querySelector('audio').paused")
    tab.keyboard.press("1")
    tab.keyboard.press("Enter")
    tab.locator('#work[data-item="2"]').wait_for()
    tab.get_by_text("The image 'lost.png' cannot be shown: there is no such file under task_dir.").wait_for()
    tab.get_by_text("The recording 'lost.wav' cannot be shown").wait_for()
    browsing.check_access(tab, "not there")
    tab.keyboard.press("1")
    tab.keyboard.press("Enter")
    tab.locator('#work[data-item="3"]').wait_for()
    tab.get_by_text("The image could not be loaded.").wait_for()
    tab.keyboard.press("?")
    tab.get_by_text("make the image larger, smaller").wait_for()
    assert [row[0] for row in live.rows(select(answers.c.item).order_by(answers.c.item))] == [1, 2]


def test_the_page_of_an_image_fits_a_phone(live: Any, tabs: Any) -> None:
    serve(live)
    tab = tabs.open(viewport={"width": 360, "height": 780}, color_scheme="dark", has_touch=True, is_mobile=True)
    browsing.sign_in(tab, live.url, "ann")
    browsing.until(tab, "() => document.querySelector('.item-image').naturalWidth === 800")
    browsing.check_access(tab, "image on a phone")
    tab.get_by_role("button", name="Larger").tap()
    browsing.until(tab, "() => document.querySelector('[data-zoom-state]').textContent === '150 %'")
    browsing.check_access(tab, "enlarged on a phone")
