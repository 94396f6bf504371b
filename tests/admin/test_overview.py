"""The admin's overview."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes
from makers import write_rows
from potato.admin.agreement import measure
from potato.items.exporting import export_labels
from potato.items.importing import import_labels
from potato.store import Database
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


def test_labels_that_left_the_project_are_shown_with_their_count(tmp_path: Path) -> None:
    """annotation 19: in the admin's statistics"""
    project = scenes.project(tmp_path)
    with scenes.served(project) as client:
        _annotate(client, "ann", ["positive", "negative", "negative"])
    fewer = {**scenes.SENTIMENT, "labels": ["positive", "mixed"]}
    left = scenes.project(tmp_path, annotation_schemes=[fewer])
    database = Database(left.database_url)
    measured = measure(left, database, {})
    database.close()
    assert measured["sentiment"]["gone"] == {"negative": 2}
    tasks = TaskRunner(left)
    tasks.start()
    with scenes.served(left, tasks=tasks, headers=scenes.PAGE) as client:
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        page = " ".join(client.get("/admin/agreement").text.split())
        assert "no longer in the project" in page
        assert '<q dir="auto">negative</q>: 2 answers, exported, and left out of training.' in page
        overview = client.get("/admin").text
        assert overview.count("no longer in the project") == 0  # the question itself is there
    tasks.close()


def test_done_means_the_same_to_the_annotator_the_admin_and_the_export(tmp_path: Path) -> None:
    """annotation 37: a skipped item, and one that lacks a required answer, are not done; machine labels never count"""
    both = [scenes.SENTIMENT, {**scenes.STARS, "required": True}]
    project = scenes.project(tmp_path, ["one", "two", "three", "four"], annotation_schemes=both)
    with scenes.served(project) as client:
        scenes.sign_in(client)
        for number, answers in enumerate([{"sentiment": "positive", "stars": 3}, {"sentiment": "positive"}], 1):
            scenes.hand_out(client)
            saved = scenes.save(client, number, answers, f"request-{number}")
        assert saved.json()["progress"] == {"done": 1, "total_done": 1, "total": 4}
        client.post("/annotate/2/skip", json={"annotator": "ann"}, headers={"Sec-Fetch-Site": "same-origin"})
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        page = " ".join(client.get("/admin", headers=scenes.PAGE).text.split())
        assert '<p class="figure-value">1</p><p class="figure-label">done</p>' in page
        assert '<th scope="row" dir="auto">ann</th><td class="num">1</td><td class="num">1</td>' in page
        shown = " ".join(client.get("/admin/items", headers=scenes.PAGE).text.split())
        assert shown.count(">done</span>") == 1
        assert shown.count("0 of 1") == 3
    database = Database(project.database_url)
    manifest = export_labels(project, database, io.BytesIO())
    database.close()
    assert (manifest.items, manifest.skipped, dict(manifest.answers)) == (2, 1, {"sentiment": 2, "stars": 1})


def test_the_items_page_shows_who_answered_holds_skipped_and_flagged(tmp_path: Path) -> None:
    evil = "<img src=x onerror=alert(1)>"
    project = scenes.project(tmp_path, [evil, "two", "three"], annotations_per_item=2)
    same = {"Sec-Fetch-Site": "same-origin"}
    with scenes.served(project, headers=same) as client:
        assert client.get("/admin/items").status_code == 401
        _annotate(client, "ann", ["positive"])
        seq = scenes.hand_out(client)
        client.post(f"/annotate/{seq}/skip", json={"annotator": "ann", "reason": evil})
        client.post("/annotate/1/flag", json={"annotator": "ann", "reason": "odd"})
        client.post("/sign-in", data={"name": "bob"})
        scenes.hand_out(client)
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        page = client.get("/admin/items", headers=scenes.PAGE).text
        assert "<img" not in page
        rows = re.findall(r'<tr><th scope="row".*?</tr>', " ".join(page.split()))
        assert ["1 of 2 ann" in rows[0], "bob</td>" in rows[0], "<strong>ann</strong>: odd" in rows[0]] == [True] * 3
        assert "&lt;img src=x onerror=alert(1)&gt;" in rows[1]
        assert len(rows) == 3
        for show, wanted in (("flagged", ["i1"]), ("skipped", ["i2"])):
            listed = client.get("/admin/items", params={"show": show}, headers=scenes.PAGE).text
            assert re.findall(r'<th scope="row" dir="auto">(?:<a [^>]*>)?(\w+)<', listed) == wanted


def test_an_items_page_marks_the_answer_that_came_when_there_were_enough(tmp_path: Path) -> None:
    """annotation 31"""
    project = scenes.project(tmp_path, ["one"])
    lines = [
        {"id": "i1", "annotator": name, "annotations": {"sentiment": "positive"}, "at": f"2026-11-29T14:1{minute}:00Z"}
        for minute, name in enumerate(("zoe", "ann"))
    ]
    with scenes.served(project, headers=scenes.PAGE) as client:
        database = Database(project.database_url)
        import_labels(project, database, write_rows(tmp_path, lines, "labels.jsonl"))
        database.close()
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        page = client.get("/admin/items/1").text
    assert [re.findall(f'<td dir="auto">{name}( <span class="badge warn")?', page) for name in ("ann", "zoe")] == [
        [' <span class="badge warn"'],
        [""],
    ]


def test_labels_are_downloaded_in_every_format_that_is_a_file(admin: TestClient, tmp_path: Path) -> None:
    _annotate(admin, "ann", ["positive", "negative"])
    offered = re.findall(r'href="([^"]*)" download', admin.get("/admin").text)
    assert [each.partition("=")[2] for each in offered] == ["jsonl", "csv", "tsv", "parquet", "label-studio", "spacy"]
    for form in ("jsonl", "csv", "label-studio"):
        got = admin.get("/admin/export", params={"format": form})
        assert got.status_code == 200
        assert f"labels.{'json' if form == 'label-studio' else form}" in got.headers["content-disposition"]
        assert (got.text.count("positive"), got.text.count("negative")) == (1, 1)
    assert list((tmp_path / "annotation_output" / "exports").iterdir()) == []
    assert admin.get("/admin/export", params={"format": "hf-datasets"}).status_code == 400
    admin.cookies.clear()
    assert admin.get("/admin/export").status_code == 401


def test_items_that_are_added_while_the_server_runs_are_handed_out(tmp_path: Path) -> None:
    project = scenes.project(tmp_path, ["one"])
    with scenes.served(project) as client:
        _annotate(client, "ann", ["positive"])
        assert "Everything is annotated" in client.get("/annotate", headers=scenes.PAGE).text
        with (tmp_path / "items.jsonl").open("a") as file:
            file.write('{"id": "later", "text": "added"}\n')
        done = subprocess.run(
            [sys.executable, "-m", "potato", "items", "add", "config.yaml"], cwd=tmp_path, timeout=120, check=True
        )
        assert done.returncode == 0
        assert scenes.hand_out(client) == 2
        assert client.get("/annotate/2", headers=scenes.PAGE).status_code == 200


@pytest.mark.parametrize(
    "page", ["/admin", "/admin/training", "/admin/items", "/admin/training/runs/20261130T092600-402587"]
)
def test_the_key_leads_to_the_page_that_was_asked_for(page: str, tmp_path: Path) -> None:
    project = scenes.project(tmp_path, model_training={"enabled": True})
    with scenes.served(project, headers=scenes.PAGE) as client:
        form = client.get(page).text
        assert form.count(f'<input name="page" type="hidden" value="{page}">') == 2
        again = client.post("/admin/sign-in", data={"key": "wrong", "page": page}).text
        assert f'<input name="page" type="hidden" value="{page}">' in again
        entered = client.post("/admin/sign-in", data={"key": scenes.KEY, "page": page})
        assert entered.status_code == 303
        assert urljoin("http://host/a/b/admin/sign-in", entered.headers["location"]) == f"http://host/a/b{page}"


@pytest.mark.parametrize(
    "page", ["https://evil.example", "//evil.example", "/admin//evil.example", "/admin/../x", "/x"]
)
def test_the_key_leads_nowhere_else(page: str, tmp_path: Path) -> None:
    with scenes.served(scenes.project(tmp_path), headers=scenes.PAGE) as client:
        entered = client.post("/admin/sign-in", data={"key": scenes.KEY, "page": page})
        assert entered.headers["location"] == "../admin"
