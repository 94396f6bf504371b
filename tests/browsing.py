"""What a person does in a browser, for tests: each step waits until the page is ready for it.

A key that is pressed before the page listens is lost, so none is pressed right after a page was asked for.
"""

from __future__ import annotations

import time
from typing import Any

from conftest import missing

LIMIT_S = 120
WCAG = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")


def ready(tab: Any) -> None:
    """Wait until the page's script listens: it says so last."""
    tab.locator("html[data-ready]").wait_for(state="attached")


def sign_in(tab: Any, address: str, name: str) -> None:
    """Sign in as an annotator without a mouse: the field has the focus by itself."""
    tab.goto(address)
    tab.locator("#name:focus").wait_for()
    tab.keyboard.type(name)
    tab.keyboard.press("Enter")
    ready(tab)


def enter_admin(tab: Any, address: str, key: str) -> None:
    """Give the admin key without a mouse, and see the overview."""
    tab.goto(f"{address}admin")
    give_key(tab, key)


def give_key(tab: Any, key: str) -> None:
    """Give the admin key to the page that asks for it, and see the overview."""
    tab.locator("#key:focus").wait_for()
    tab.keyboard.type(key)
    tab.keyboard.press("Enter")
    tab.locator("#agreement").wait_for()


def tab_to(tab: Any, selector: str) -> None:
    """Press Tab until what `selector` finds has the focus."""
    for _ in range(120):
        if tab.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
        tab.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {selector}")


def check_access(tab: Any, name: str) -> None:
    """The page as it stands has no fault that axe finds against WCAG 2.2 AA, and does not scroll sideways."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        missing("axe-playwright-python")
    found = Axe().run(tab, options={"runOnly": list(WCAG)})
    assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), name


def until(tab: Any, function: str, argument: Any = None) -> None:
    """Wait until a JavaScript function gives true. `wait_for_function` would need `eval`, which the pages forbid."""
    deadline = time.monotonic() + LIMIT_S
    while not tab.evaluate(function, argument):
        assert time.monotonic() < deadline, f"{function} did not come about"
        tab.wait_for_timeout(20)
