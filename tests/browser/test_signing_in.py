"""Each way in, in a real browser: signing in, and signing in again in place without losing what was answered."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

import browsing
import site_scenes as scenes
from makers import NOW
from potato.admin import accounts as actions
from potato.store import Database
from potato.store.tables import adjudications, annotation_history
from potato.store.tables import annotations as answers

pytestmark = pytest.mark.browser


def change(live: Any, made: actions.Change) -> str:
    """What the users page would do; the secret that it would show."""
    database = Database(live.project.database_url)
    with database.write() as connection:
        done = made(connection)
    database.close()
    return done.secret or ""


def shot(tab: Any, name: str) -> None:
    """Keep a picture for a person to look at, where `POTATO_SHOTS` says."""
    if folder := os.environ.get("POTATO_SHOTS"):
        tab.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def answer_while_the_session_ends(live: Any, tab: Any, shown: str) -> None:
    """Answer with a session that no longer holds, and wait until the page asks to sign in again."""
    tab.keyboard.press("1")
    tab.locator("dialog#sign-in-again[open]").wait_for()
    tab.locator("#save-state", has_text="Not saved: your session has ended.").wait_for()
    browsing.check_access(tab, shown)
    shot(tab, f"data-again-{shown}")
    assert live.rows(select(answers.c.value)) == []


def landed_once(live: Any, tab: Any) -> None:
    """The answer was sent by itself, and is in the store once."""
    tab.locator("#save-state", has_text="Saved at").wait_for()
    assert live.rows(select(answers.c.value)) == [("positive",)]
    assert live.rows(select(func.count()).select_from(annotation_history)) == [(1,)]
    assert tab.url.endswith("/annotate/1")


def test_with_a_password(live: Any, tab: Any) -> None:
    """annotation 25"""
    live.serve(login={"type": "password"})
    change(live, actions.add("ann", NOW))
    change(live, actions.new_password("ann", "correct horse"))
    tab.goto(live.url)
    tab.locator("#name:focus").wait_for()
    tab.keyboard.type("ann")
    tab.keyboard.press("Tab")
    tab.keyboard.type("wrong horse")
    tab.keyboard.press("Enter")
    tab.get_by_text("do not belong together").wait_for()
    browsing.check_access(tab, "wrong password")
    shot(tab, "data-sign-in-password")
    tab.locator("#password").fill("correct horse")
    tab.keyboard.press("Enter")
    browsing.ready(tab)
    change(live, actions.new_password("ann", "another horse"))
    answer_while_the_session_ends(live, tab, "password")
    tab.locator("#again-password").fill("correct horse")
    tab.keyboard.press("Enter")
    tab.locator("dialog#sign-in-again [data-problem]", has_text="do not belong together").wait_for()
    tab.locator("#again-password").fill("another horse")
    tab.keyboard.press("Enter")
    landed_once(live, tab)


def test_with_a_link_from_the_users_page(live: Any, tabs: Any) -> None:
    """annotation 25"""
    live.serve(login={"type": "link"})
    admin = tabs.open()
    browsing.enter_admin(admin, live.url, scenes.KEY)
    admin.get_by_role("link", name="Users").click()
    admin.get_by_label("Name").fill("ann")
    admin.keyboard.press("Enter")
    admin.get_by_role("button", name="New link").click()
    browsing.until(admin, "(start) => document.querySelector('#secret')?.value.startsWith(start)", f"{live.url}enter#")
    link = admin.locator("#secret").input_value()
    browsing.check_access(admin, "users page")
    shot(admin, "data-users")
    tab = tabs.open()
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(link)
    browsing.ready(tab)
    assert not [url for url in asked if link.partition("#")[2] in url.partition("#")[0]]  # it is in no server's log
    admin.get_by_role("button", name="New link").click()
    admin.get_by_text("has a new sign-in link").wait_for()
    browsing.until(admin, "old => document.getElementById('secret').value !== old", link)
    answer_while_the_session_ends(live, tab, "link")
    tab.locator("#again-link").fill(admin.locator("#secret").input_value())
    tab.keyboard.press("Enter")
    landed_once(live, tab)


def test_by_a_proxys_header(live: Any, tabs: Any) -> None:
    """annotation 25: another name at the proxy, and back"""
    live.serve(login={"type": "header"})
    tab = tabs.open()
    tab.context.set_extra_http_headers({"X-Forwarded-User": "ann"})
    tab.goto(live.url)
    browsing.ready(tab)
    tab.context.set_extra_http_headers({"X-Forwarded-User": "bob"})
    answer_while_the_session_ends(live, tab, "header")
    tab.context.set_extra_http_headers({"X-Forwarded-User": "ann"})
    tab.get_by_role("button", name="Sign in and send").click()
    landed_once(live, tab)


def test_the_admins_pages_are_accessible_and_decide(live: Any, tabs: Any) -> None:
    """Items, adjudication and users, on a desktop and on a phone, in both colours."""
    live.serve(["first", "second", "third"], annotations_per_item=2)
    for name, key in (("ann", "1"), ("bob", "2")):
        tab = tabs.open()
        browsing.sign_in(tab, live.url, name)
        tab.keyboard.press(key)
        tab.locator("#save-state", has_text="Saved at").wait_for()
    admin = tabs.open(color_scheme="dark", viewport={"width": 390, "height": 844})
    browsing.enter_admin(admin, live.url, scenes.KEY)
    for page in ("Items", "Adjudication"):
        admin.get_by_role("link", name=page, exact=True).click()
        admin.get_by_role("heading", name=page, exact=True, level=1).wait_for()
        browsing.check_access(admin, page)
        shot(admin, f"data-{page.lower()}-phone")
    admin.get_by_role("button", name="negative", exact=True).click()
    admin.get_by_text("There is no item left on which annotators disagree.").wait_for()
    admin.get_by_label("Show").select_option("decided")
    admin.get_by_role("button", name="Show").click()
    admin.get_by_role("button", name="Take the decision back").wait_for()
    admin.set_viewport_size({"width": 1280, "height": 800})
    browsing.check_access(admin, "decided")
    shot(admin, "data-adjudication-decided")
    assert live.rows(select(adjudications.c.value)) == [("negative",)]
    assert len(live.rows(select(answers.c.value))) == 2
