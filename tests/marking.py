"""Marking stretches of the text on a page, for tests."""

from __future__ import annotations

from typing import Any


def span(text: str, part: str, label: str) -> tuple[int, int, str, str]:
    """Start, end, label and text of the first `part` of the text, in code points."""
    start = text.index(part)
    return start, start + len(part), label, part


def box(tab: Any, text: str, part: str) -> dict[str, float]:
    """Where a part of the text is shown."""
    start, end = (len(text[:cut].encode("utf-16-le")) // 2 for cut in span(text, part, "")[:2])
    look = """([start, end]) => {
      const range = document.createRange();
      const node = document.querySelector(".item-text").firstChild;
      range.setStart(node, start);
      range.setEnd(node, end);
      const box = range.getBoundingClientRect();
      return { left: box.left, right: box.right, y: (box.top + box.bottom) / 2, x: (box.left + box.right) / 2 };
    }"""
    return dict(tab.evaluate(look, [start, end]))


def drag(tab: Any, text: str, part: str) -> None:
    """Select a part of the text with the mouse."""
    where = box(tab, text, part)
    rtl = tab.evaluate("getComputedStyle(document.querySelector('.item-text')).direction") == "rtl"
    begin, finish = (where["right"], where["left"]) if rtl else (where["left"], where["right"])
    tab.mouse.move(begin, where["y"])
    tab.mouse.down()
    tab.mouse.move(where["x"], where["y"], steps=3)
    tab.mouse.move(finish, where["y"], steps=3)
    tab.mouse.up()


def exact(tab: Any, text: str) -> None:
    """The text on the page is the data's, whatever is marked in it."""
    assert tab.evaluate("document.querySelector('.item-text').textContent") == text
    assert tab.locator(".item-text *").count() == 0
