"""The admin's overview."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes
from potato.tasks import TaskRunner


@pytest.fixture
def admin(tmp_path: Path) -> Iterator[TestClient]:
    project = scenes.project(tmp_path, annotations_per_item=2)
    tasks = TaskRunner(project)
    tasks.start()
    with scenes.served(project, tasks=tasks, headers=scenes.PAGE) as client:
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        yield client
    tasks.close()


def _annotate(client: TestClient, name: str, answers: list[str]) -> None:
    client.post("/sign-in", data={"name": name})
    for number, answer in enumerate(answers):
        seq = scenes.hand_out(client)
        saved = scenes.save(client, seq, {"sentiment": answer}, f"request-{number}", annotator=name)
        assert saved.status_code == 200, saved.text


def test_it_shows_progress_annotators_and_answers(admin: TestClient) -> None:
    _annotate(admin, "ann", ["positive", "negative", "positive"])
    _annotate(admin, "bob", ["positive"])
    page = " ".join(admin.get("/admin").text.split())
    assert '<p class="figure-value">3</p><p class="figure-label">items</p>' in page
    assert '<p class="figure-value">1</p><p class="figure-label">done</p>' in page
    assert '<p class="figure-value">4</p><p class="figure-label">answers</p>' in page
    assert '<th scope="row" dir="auto">ann</th><td class="num">3</td>' in page
    assert '<th scope="row" dir="auto">bob</th><td class="num">1</td>' in page


def test_it_says_what_to_do_when_nobody_is_there_yet(admin: TestClient) -> None:
    assert "Nobody has signed in yet. Send annotators the address of this server" in admin.get("/admin").text


def test_agreement_is_shown_with_its_items_and_annotators(admin: TestClient) -> None:
    _annotate(admin, "ann", ["positive", "negative", "positive"])
    _annotate(admin, "bob", ["positive", "negative", "positive"])
    page = " ".join(admin.get("/admin/agreement").text.split())
    row = re.search("sentiment</th> (.*?)</tr>", page)
    assert row
    assert re.findall(r'"num">(.*?)</td>', row[1]) == ["1.00", "100 %", "3", "2"]
    assert "Undefined: no item has two or more answers." in page  # the other questions


def test_the_overview_asks_for_the_key_first(admin: TestClient) -> None:
    admin.cookies.clear()
    page = admin.get("/admin").text
    assert 'name="key"' in page
    assert "Annotators</h2>" not in page


def test_names_are_shown_as_they_are(admin: TestClient) -> None:
    """annotation 17"""
    _annotate(admin, "<img src=x onerror=alert(1)>", ["positive"])
    assert "&lt;img src=x onerror=alert(1)&gt;</th>" in admin.get("/admin").text
