"""Deciding where annotators disagree."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes
from makers import NOW, SENTIMENT, SURE, TOPICS, Small, later, small
from potato.items.exporting import export_file, export_labels
from potato.items.importing import InvalidLabels, import_labels
from potato.project import Project
from potato.store import Database, adjudications
from potato.training.bundle.gathering import gather

WHY = {"annotation_type": "text", "name": "why", "description": "Why?", "required": False}
PRICE = {"annotation_type": "number", "name": "price", "description": "How much?", "required": False}
PARTS = {"annotation_type": "span", "name": "parts", "description": "Which?", "labels": ["A"], "required": False}
SCHEMES = [{**SENTIMENT, "labels": ["positive", "negative", "mixed"]}, TOPICS, SURE, WHY, PRICE, PARTS]


def disagreeing(project: Small) -> None:
    """Item 1: they agree; 2 and 3: not; 4: only one has answered; 5: one of two has skipped it."""
    ann, bob = project.user("ann"), project.user("bob")
    for seq, one, other in ((1, "positive", "positive"), (2, "positive", "negative"), (3, "negative", "positive")):
        project.save(ann, seq, {"sentiment": one, "topics": ["price"], "price": seq})
        project.save(bob, seq, {"sentiment": other, "topics": ["size"], "price": 0.5}, later(1))
    project.save(ann, 4, {"sentiment": "positive"})
    project.save(ann, 5, {"sentiment": "positive"})
    project.save(bob, 5, {"sentiment": "negative"})
    project.skip(bob, 5)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Small]:
    with small(tmp_path, 5, annotation_schemes=SCHEMES, annotations_per_item=2, admin_api_key=scenes.KEY) as project:
        disagreeing(project)
        yield project


@pytest.fixture
def admin(scene: Small) -> Iterator[TestClient]:
    with scenes.served(scene.project, headers={**scenes.PAGE, "Sec-Fetch-Site": "same-origin"}) as client:
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        yield client


def ids(client: TestClient, **query: Any) -> list[str]:
    page = client.get("/admin/adjudication", params=query)
    assert page.status_code == 200, page.text
    return re.findall(r'aria-label="Item (\w+)"', page.text)


def decide(client: TestClient, item: int, answer: Any, scheme: str = "sentiment", **more: Any) -> Any:
    return client.post(
        "/admin/adjudication", data={"scheme": scheme, "item": item, "answer": json.dumps(answer), **more}
    )


def test_only_items_on_which_annotators_disagree_are_to_be_decided(admin: TestClient) -> None:
    assert ids(admin) == ["2", "3"]
    assert ids(admin, show="all") == ["1", "2", "3"]
    assert ids(admin, show="decided") == []
    assert ids(admin, after=2) == ["3"]
    assert ids(admin, scheme="topics") == ["1", "2", "3"]
    assert ids(admin, scheme="why") == []
    assert admin.get("/admin/adjudication", params={"scheme": "no"}).status_code == 404


def test_a_decision_is_a_record_of_its_own(admin: TestClient, scene: Small) -> None:
    assert decide(admin, 2, "mixed").status_code == 200
    assert (ids(admin), ids(admin, show="decided")) == (["3"], ["2"])
    made = scene.read(lambda conn: list(adjudications.everything(conn)))
    assert [(each.item, each.scheme, each.value, each.adjudicator) for each in made] == [
        (2, "sentiment", "mixed", "admin")
    ]
    lines = exported(scene)
    assert [line["annotations"].get("sentiment") for line in lines if line["id"] == "2"] == [
        "positive",
        "negative",
        "mixed",
    ]
    decide(admin, 2, "negative")
    assert scene.read(adjudications.of_scheme, "sentiment") == {2: "negative"}
    admin.post("/admin/adjudication", data={"scheme": "sentiment", "item": 2, "back": "true"})
    assert ids(admin) == ["2", "3"]


@pytest.mark.parametrize(
    ("scheme", "form", "value"),
    [
        ("topics", {"answer": json.dumps(["size", "price"])}, ["price", "size"]),
        ("sure", {"answer": "4"}, 4),
        ("price", {"own": "12.5"}, 12.5),
        ("why", {"own": "because"}, "because"),
        ("parts", {"answer": json.dumps([{"start": 0, "end": 4, "label": "A", "text": "text"}])},
         [{"start": 0, "end": 4, "label": "A", "text": "text"}]),
    ],
)  # fmt: skip
def test_questions_of_every_kind_can_be_decided(
    admin: TestClient, scene: Small, scheme: str, form: dict[str, str], value: Any
) -> None:
    done = admin.post("/admin/adjudication", data={"scheme": scheme, "item": 1, **form})
    assert done.status_code == 200, done.text
    assert scene.read(adjudications.of_scheme, scheme) == {1: value}


@pytest.mark.parametrize(
    ("scheme", "item", "form", "status"),
    [
        ("sentiment", 2, {"answer": '"maybe"'}, 400),
        ("sentiment", 99, {"answer": '"positive"'}, 404),
        ("nothing", 2, {"answer": '"positive"'}, 404),
        ("price", 2, {"own": "twelve"}, 400),
        ("sentiment", 2, {}, 400),
        ("parts", 2, {"answer": '[{"start": 0, "end": 4, "label": "A", "text": "else"}]'}, 400),
    ],
)
def test_what_the_project_does_not_take_is_not_decided(
    admin: TestClient, scene: Small, scheme: str, item: int, form: dict[str, str], status: int
) -> None:
    assert admin.post("/admin/adjudication", data={"scheme": scheme, "item": item, **form}).status_code == status
    assert scene.read(adjudications.count_by_scheme) == {}


@pytest.mark.parametrize("scheme", [each["name"] for each in SCHEMES])
def test_every_kind_of_question_is_asked_as_annotators_are(admin: TestClient, scheme: str) -> None:
    page = admin.get("/admin/adjudication/2", params={"scheme": scheme, "show": "all", "after": 1})
    assert page.status_code == 200, page.text
    assert f'class="question" id="q0" data-scheme="{scheme}"' in page.text
    assert f'href="../adjudication?scheme={scheme}&amp;show=all&amp;after=1"' in page.text
    assert f"adjudication/2?scheme={scheme}" in admin.get(f"/admin/adjudication?scheme={scheme}&show=all").text or (
        scheme in ("sure", "why", "parts")  # nobody has answered these
    )


def test_an_own_answer_begins_with_what_was_decided(admin: TestClient) -> None:
    decide(admin, 2, ["price", "size"], "topics")
    page = admin.get("/admin/adjudication/2?scheme=topics").text
    assert page.count(" checked ") == 2
    assert page.count("data-begin=") == 2  # the two annotators' answers
    assert admin.get("/admin/adjudication/99?scheme=topics").status_code == 404
    assert admin.get("/admin/adjudication/2?scheme=no").status_code == 404


def test_nobody_decides_without_the_right(scene: Small) -> None:
    with scenes.served(scene.project) as client:
        scenes.sign_in(client)
        assert client.get("/admin/adjudication/2?scheme=topics").status_code == 401
        assert client.get("/admin/adjudication").status_code == 401
        assert decide(client, 2, "mixed").status_code == 401


def test_training_takes_the_decision_in_place_of_what_annotators_come_to(scene: Small) -> None:
    def targets() -> tuple[dict[int, Any], int, int, int]:
        found = scene.read(gather, scene.project, scene.project.schemes["sentiment"])
        return found.targets, found.ties, found.orphans, found.adjudicated

    before, ties, _, _ = targets()
    assert before[1] == "positive"
    with scene.database.write() as conn:
        adjudications.decide(
            conn,
            [adjudications.decided_at(seq, "sentiment", "mixed", "admin", NOW) for seq in (1, 2, 3)]
            + [adjudications.decided_at(4, "sentiment", "gone", "admin", NOW)],
        )
    after, ties_after, orphans, adjudicated = targets()
    assert {seq: after[seq] for seq in (1, 2, 3)} == {1: "mixed", 2: "mixed", 3: "mixed"}
    assert after[4] == before[4]  # a decision for a label that is gone counts as none, and is told
    assert (ties_after, orphans, adjudicated) == (0, 1, 3)
    assert ties + len(before) == len(after)


def exported(project: Small) -> list[dict[str, Any]]:
    file = io.BytesIO()
    export_labels(project.project, project.database, file)
    return [json.loads(line) for line in file.getvalue().decode().splitlines()]


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "parquet", "label-studio"])
def test_decisions_are_exported_and_come_back(tmp_path: Path, form: str) -> None:
    """annotation 14"""
    out = tmp_path / f"out.{'json' if form == 'label-studio' else form}"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    config: dict[str, Any] = {"annotation_schemes": SCHEMES, "annotations_per_item": 2}
    with small(tmp_path / "a", 5, **config) as project:
        disagreeing(project)
        with project.database.write() as conn:
            adjudications.decide(
                conn,
                [
                    adjudications.decided_at(2, "sentiment", "mixed", "mira", NOW),
                    adjudications.decided_at(2, "topics", ["size"], "mira", NOW),
                    adjudications.decided_at(3, "price", 7, "bob", NOW),
                ],
            )
        manifest = export_file(project.project, project.database, out, form)
        assert (dict(manifest.adjudicated), manifest.answers["sentiment"]) == (
            {"sentiment": 1, "topics": 1, "price": 1},
            9,
        )
        lines = exported(project)
        again = import_labels(project.project, project.database, out).outcome
        assert (again.new, again.changed, again.kept) == (0, 0, 0)
    with small(tmp_path / "b", 5, **config) as other:
        import_labels(other.project, other.database, out)
        assert exported(other) == lines
        assert other.read(lambda conn: conn.exec_driver_sql("SELECT count(*) FROM users").scalar()) == 2
        later_one = {"id": "2", "adjudicator": "cem", "annotations": {"sentiment": "negative"}}
        (tmp_path / "later.jsonl").write_text(json.dumps(later_one))
        assert import_labels(other.project, other.database, tmp_path / "later.jsonl").outcome.kept == 1
        assert import_labels(other.project, other.database, tmp_path / "later.jsonl", replace=True).outcome.changed == 1
        assert other.read(adjudications.of_scheme, "sentiment") == {2: "negative"}
        (tmp_path / "both.jsonl").write_text(json.dumps({**later_one, "annotator": "ann"}))
        with pytest.raises(InvalidLabels, match="an annotator or an adjudicator, not both"):
            import_labels(other.project, other.database, tmp_path / "both.jsonl")


def test_names_and_texts_are_shown_as_they_are(tmp_path: Path) -> None:
    """annotation 17"""
    evil = "<img src=x onerror=alert(1)>"
    project: Project = scenes.project(tmp_path, [evil], annotations_per_item=2)
    loaded = Small(project, Database(project.database_url))
    loaded.save(loaded.user(evil), 1, {"sentiment": "positive"})
    loaded.save(loaded.user("bob"), 1, {"sentiment": "negative"})
    loaded.database.close()
    with scenes.served(project, headers=scenes.PAGE) as client:
        client.post("/admin/sign-in", data={"key": scenes.KEY})
        page = client.get("/admin/adjudication").text
    assert "<img" not in page
    assert page.count("&lt;img src=x onerror=alert(1)&gt;") == 2
