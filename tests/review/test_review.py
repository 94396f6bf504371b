"""The review page and its API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import site_scenes as site
import training_scenes as scenes
from potato.project import Project
from potato.store import Database, tables
from potato.store.clock import to_text
from potato.store.training import predictions
from potato.store.training.predictions import Stored

API = "/admin/training/api"
RUN = scenes.succeeded(1)
SURE = {"i1": 0.9, "i2": 0.55, "i3": 0.7}
SAME_ORIGIN = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    training = {"enabled": True, "writeback": {"schemas": ["sentiment", "topics"], "include_unlabeled": True}}
    return site.project(tmp_path, ["one <b>", "two", "three"], model_training=training)


def show(database: Database, run: Any = RUN, scheme: str = "sentiment", said: Any = "positive") -> None:
    with database.write() as connection:
        scenes.add(connection, run)
        rows = [Stored(n, scheme, said, sure, None, None) for n, sure in enumerate(SURE.values(), 1)]
        predictions.add(connection, run.run_id, rows)
        predictions.set_live(connection, run.run_id, [scheme], to_text(scenes.NOW))


@pytest.fixture
def database(project: Project) -> Iterator[Database]:
    database = Database(project.database_url)
    yield database
    database.close()


@pytest.fixture
def client(project: Project, database: Database) -> Iterator[TestClient]:
    with site.served(project, headers={"X-API-Key": site.KEY}) as client:
        yield client


def verdict(client: TestClient, item: str = "i2", said: str = "accept", **more: Any) -> Any:
    body = {"run_id": RUN.run_id, "scheme": "sentiment", "item": item, "verdict": said, "reviewer": "rev", **more}
    return client.post(f"{API}/reviews", json=body)


def rows(database: Database, query: Any) -> list[Any]:
    with database.read() as connection:
        return list(connection.execute(query).all())


def test_the_queue_begins_with_the_least_confident(client: TestClient, database: Database) -> None:
    show(database)
    queue = client.get(f"{API}/reviews/queue?scheme=sentiment").json()
    assert [entry["item"] for entry in queue["waiting"]] == ["i2", "i3", "i1"]
    assert queue["waiting"][0] == {"item": "i2", "text": "two", "answer": "positive", "confidence": 0.55}
    assert (queue["run_id"], queue["model_version"], queue["count"]) == (RUN.run_id, RUN.model_version, 3)


def test_without_a_live_model_nothing_waits(client: TestClient) -> None:
    queue = client.get(f"{API}/reviews/queue?scheme=sentiment").json()
    assert (queue["run_id"], queue["waiting"], queue["count"]) == (None, [], 0)
    assert "there is nothing to review" in client.get("/admin/review", headers=site.PAGE).text


def test_a_verdict_answers_under_the_reviewers_name_and_lands_once(client: TestClient, database: Database) -> None:
    show(database)
    first = verdict(client, request_id="request-1", elapsed_ms=900)
    assert first.status_code == 200
    assert first.json() | {"at": ""} == {
        "run_id": RUN.run_id,
        "scheme": "sentiment",
        "item": "i2",
        "verdict": "accept",
        "answer": "positive",
        "reviewer": "rev",
        "at": "",
        "repeated": False,
    }
    again = verdict(client, request_id="request-1", elapsed_ms=900).json()
    assert again == first.json() | {"repeated": True}
    [row] = rows(database, tables.annotation_history.select())
    assert (row.value, row.source, row.origin, row.elapsed_ms) == ("positive", "review", "accepted", 900)


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"said": "correct"}, 400, "nothing_corrected"),
        ({"said": "correct", "answer": "positive"}, 400, "nothing_corrected"),
        ({"said": "correct", "answer": "purple"}, 400, "invalid_answer"),
        ({"said": "maybe"}, 400, "invalid_request"),
        ({"scheme": "mood"}, 400, "unknown_scheme"),
        ({"reviewer": " x"}, 400, "invalid_name"),
        ({"item": "i9"}, 404, "unknown_item"),
        ({"run_id": "other"}, 409, "suggestion_gone"),
        ({"scheme": "topics"}, 409, "suggestion_gone"),
    ],
)
def test_a_verdict_that_does_not_hold_says_why(
    client: TestClient, database: Database, more: dict[str, Any], status: int, code: str
) -> None:
    show(database)
    answer = verdict(client, **more)
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    assert answer.json()["error"]
    assert rows(database, tables.verdicts.select()) == []
    assert rows(database, tables.annotations.select()) == []


def test_the_runs_page_and_the_api_tell_the_precision_in_use(client: TestClient, database: Database) -> None:
    show(database)
    verdict(client, "i2", "reject")
    verdict(client, "i3", "correct", answer="negative")
    verdict(client, "i1")
    use = client.get(f"{API}/runs/{RUN.run_id}/use").json()
    assert use["annotators"] == {}
    [low, high] = use["reviews"]["sentiment"].pop("interval")
    assert (round(low, 3), round(high, 3)) == (0.061, 0.792)
    counts = {"reviewed": 3, "accepted": 1, "corrected": 1, "rejected": 1, "precision": 1 / 3}
    assert use["reviews"]["sentiment"] == counts
    page = client.get(f"/admin/training/runs/{RUN.run_id}", headers=site.PAGE).text
    assert "Precision in use 33\u00a0%" in page
    assert "of 3 reviewed suggestions, 1 were accepted, 1 corrected and 1 rejected" in page
    assert client.get(f"{API}/runs/{RUN.run_id}").json()["live_prelabels"] == 1


def test_the_page_shows_the_text_as_it_is_and_the_queue_goes_on(client: TestClient, database: Database) -> None:
    show(database)
    first = client.get("/admin/review", headers=site.PAGE).text
    assert ">two</div>" in first
    assert "55\u00a0% sure" in first
    second = client.get("/admin/review?scheme=sentiment&after=2", headers=site.PAGE).text
    assert ">three</div>" in second
    assert "one &lt;b&gt;</div>" in client.get("/admin/review?item=1", headers=site.PAGE).text
    last = client.get("/admin/review?scheme=sentiment&after=1", headers=site.PAGE).text
    assert "Those that you passed over still wait" in last


def test_a_verdict_that_is_looked_at_again_is_shown(client: TestClient, database: Database) -> None:
    show(database)
    verdict(client, "i2", "reject")
    assert "You have rejected this." in client.get("/admin/review?item=2", headers=site.PAGE).text
    verdict(client, "i2", "correct", answer="negative")
    page = client.get("/admin/review?item=2", headers=site.PAGE).text
    assert "You have corrected this." in page
    assert page.count(" checked") == 1


def test_each_question_with_live_suggestions_has_its_queue(client: TestClient, database: Database) -> None:
    show(database)
    show(database, scenes.succeeded(2), "topics", ["food"])
    page = client.get("/admin/review?scheme=topics", headers=site.PAGE).text
    assert '<option value="topics" selected>' in page
    assert 'The model suggests <strong dir="auto">food</strong>' in page
    assert client.get(f"{API}/reviews/queue?scheme=topics").json()["waiting"][0]["answer"] == ["food"]


def test_only_admins_review(project: Project, database: Database) -> None:
    """annotation 36: annotators see neither the queue nor what others say."""
    show(database)
    with site.served(project) as client:
        site.sign_in(client)
        assert client.get("/admin/review", headers=site.PAGE).status_code == 401
        assert verdict(client).status_code == 401
        assert client.get(f"{API}/runs/{RUN.run_id}/use").status_code == 401


def test_a_session_reviews_as_the_annotator_who_is_signed_in_beside(project: Project, database: Database) -> None:
    show(database)
    with site.served(project) as client:
        site.sign_in(client, "mira")
        client.post("/admin/sign-in", data={"key": site.KEY}, headers=SAME_ORIGIN)
        assert 'value="mira"' in client.get("/admin/review", headers=site.PAGE).text
        body = {"run_id": RUN.run_id, "scheme": "sentiment", "item": "i2", "verdict": "accept"}
        assert client.post(f"{API}/reviews", json=body).status_code == 403
        assert client.post(f"{API}/reviews", json=body, headers=SAME_ORIGIN).json()["reviewer"] == "mira"


def test_neither_an_answer_nor_a_verdict_nor_a_page_makes_a_model_speak(client: TestClient, database: Database) -> None:
    """annotation 65"""
    show(database)
    before = rows(database, tables.predictions.select())
    site.sign_in(client)
    item = site.hand_out(client)
    client.get(f"/annotate/{item}", headers=site.PAGE)
    for number in range(3):
        assert site.save(client, item, {"sentiment": "negative"}, f"request-{number}").status_code == 200
    verdict(client, "i2", "reject")
    verdict(client, "i3")
    client.get("/admin/review", headers=site.PAGE)
    assert rows(database, tables.predictions.select()) == before
    assert [row.run_id for row in rows(database, tables.runs.select())] == [RUN.run_id]
