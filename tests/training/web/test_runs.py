"""The API's routes for runs."""

from __future__ import annotations

import json

import pytest
from starlette.testclient import TestClient

import training_scenes as scenes
from potato.project import Project
from potato.store import Database
from potato.store.training import runs as stored
from potato.store.training.runs import State
from potato.training.contract.events import EventWriter
from potato.training.runs.folder import RunFolder
from potato.training.web.answers import Json

API = "/admin/training/api"


def test_runs_are_listed_newest_first_a_page_at_a_time(client: TestClient, database: Database) -> None:
    with database.write() as connection:
        scenes.add(connection, *(scenes.run(number, State.ERROR) for number in range(5)))
    ids, before = [], None
    for _ in range(3):
        page = client.get(f"{API}/runs", params={"limit": 2} | ({"before": before} if before else {})).json()
        ids += [run["run_id"] for run in page["runs"]]
        before = page["next"]
    assert before is None
    assert ids == [scenes.run(number, State.ERROR).run_id for number in (4, 3, 2, 1, 0)]


def test_one_run_is_given_whole(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(3)
    with database.write() as connection:
        scenes.add(connection, run, live=run)
    body = client.get(f"{API}/runs/{run.run_id}").json()
    assert body["state"] == "success"
    assert body["scores"]["sentiment"]["test"]["accuracy"] == run.scores["sentiment"]["test"]["accuracy"]
    assert (body["live_schemas"], body["live_prelabels"]) == (["sentiment"], 96)


@pytest.mark.parametrize("rest", ["", "/events", "/stream", "/curves", "/log", "/artifacts/x"])
def test_a_run_that_is_not_there_is_a_404_with_a_sentence(client: TestClient, rest: str) -> None:
    answer = client.get(f"{API}/runs/nothing{rest}")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_run")


def test_a_run_without_labels_is_refused_and_nothing_is_started(client: TestClient, database: Database) -> None:
    """annotation 41"""
    answer = client.post(f"{API}/runs", json={"trainer": "sklearn-text", "schemas": ["sentiment"]})
    assert (answer.status_code, answer.json()["code"]) == (400, "not_enough_labels")
    assert "0 of 2 needed" in answer.json()["error"]
    with database.read() as connection:
        assert stored.page(connection, 10) == []


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"trainer": "nobody", "schemas": ["sentiment"]}, 400, "unknown_trainer"),
        ({"trainer": "sklearn-text", "schemas": ["mood"]}, 400, "unknown_scheme"),
        ({"trainer": "sklearn-text", "schemas": []}, 400, "invalid_request"),
        ({"trainer": "sklearn-text", "schemas": ["sentiment"], "params": {"colour": 1}}, 400, "bad_param"),
        ({"trainer": "sklearn-text", "schemas": ["sentiment"], "params": {"C": -1}}, 400, "bad_param"),
        ({"trainer": "sklearn-text", "schemas": ["sentiment"], "backend": "moon"}, 409, "unknown_backend"),
        ({"trainer": "sklearn-text", "schemas": ["sentiment"], "colour": "red"}, 400, "invalid_request"),
        ({"trainer": 7, "schemas": ["sentiment"]}, 400, "invalid_request"),
        ({"trainer": "x" * 100_000, "schemas": ["sentiment"]}, 400, "invalid_request"),
        ({"trainer": "sklearn-text", "schemas": "sentiment"}, 400, "invalid_request"),
        ([], 400, "invalid_request"),
        (None, 400, "invalid_request"),
    ],
)
def test_a_request_with_something_wrong_is_told_what(client: TestClient, body: object, status: int, code: str) -> None:
    answer = client.post(f"{API}/runs", json=body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"trainer": "sklearn-text", "schemas": ["sentiment"], "params": {"C": NaN}}',
        b'{"trainer": "sklearn-text", "schemas": ["sentiment"], "params": {"C": 1e999}}',
        b'{"trainer": "\\ud800", "schemas": ["sentiment"]}',
        b"[" * 20_000,
    ],
)
def test_a_body_that_is_no_json_is_told_so(client: TestClient, raw: bytes) -> None:
    answer = client.post(f"{API}/runs", content=raw, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_a_body_that_is_too_large_is_told_the_limit(client: TestClient) -> None:
    answer = client.post(f"{API}/runs", json={"trainer": "x" * 2_000_000, "schemas": ["sentiment"]})
    assert answer.status_code == 413
    assert "1,000,000" in answer.json()["error"]


def test_a_queued_run_can_be_cancelled_and_cancelling_again_changes_nothing(
    client: TestClient, database: Database
) -> None:
    run = scenes.run(1, State.QUEUED)
    with database.write() as connection:
        scenes.add(connection, run)
    for _ in range(2):
        answer = client.post(f"{API}/runs/{run.run_id}/cancel")
        assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")


def test_a_run_that_is_over_cannot_be_cancelled(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(1)
    with database.write() as connection:
        scenes.add(connection, run)
    answer = client.post(f"{API}/runs/{run.run_id}/cancel")
    assert (answer.status_code, answer.json()["code"]) == (409, "run_is_over")


def test_a_model_that_is_here_is_not_copied_again(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(1)
    with database.write() as connection:
        scenes.add(connection, run)
    answer = client.post(f"{API}/runs/{run.run_id}/copy")
    assert (answer.status_code, answer.json()["code"]) == (409, "nothing_to_copy")
    assert client.post(f"{API}/runs/none/copy").status_code == 404


def test_withdrawing_takes_the_prelabels_back(client: TestClient, database: Database) -> None:
    run = scenes.succeeded(1)
    with database.write() as connection:
        scenes.add(connection, run, live=run)
    assert client.delete(f"{API}/runs/{run.run_id}/predictions").status_code == 200
    assert client.get(f"{API}/runs/{run.run_id}").json()["live_schemas"] == []


def test_events_are_paged_by_their_offset(client: TestClient, database: Database, project: Project) -> None:
    run = scenes.run(1, State.RUNNING)
    with database.write() as connection:
        scenes.add(connection, run)
    scenes.write_course(project, run.run_id)
    events, after, more = [], 0, True
    while more:
        page = client.get(f"{API}/runs/{run.run_id}/events", params={"after": after, "limit": 30}).json()
        events += page["events"]
        after, more = page["next"], page["more"]
    assert len(events) == 1 + 12 * 8
    assert events[0]["event"] == "status"
    assert events[-1]["offset"] == after == RunFolder.of(project, run.run_id).events.stat().st_size


def test_a_lone_surrogate_in_a_log_line_breaks_no_answer(
    client: TestClient, database: Database, project: Project
) -> None:
    run = scenes.run(1, State.RUNNING)
    with database.write() as connection:
        scenes.add(connection, run)
    folder = RunFolder.of(project, run.run_id)
    folder.path.mkdir(parents=True)
    writer = EventWriter(str(folder.events))
    writer.log("info", "half \ud800 a pair")
    writer.close()
    answer = client.get(f"{API}/runs/{run.run_id}/events")
    assert answer.status_code == 200
    message = json.loads(answer.text)["events"][0]["msg"]
    assert (message[:5], message[-7:]) == ("half ", " a pair")
    assert json.loads(Json({"text": "\ud800"}).body)["text"] != ""


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=0", "limit=9999", "after=99999999999999999999"])
def test_a_query_out_of_range_is_told_so(client: TestClient, database: Database, query: str) -> None:
    run = scenes.run(1, State.RUNNING)
    with database.write() as connection:
        scenes.add(connection, run)
    answer = client.get(f"{API}/runs/{run.run_id}/events?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_without_the_key_nothing_is_told(client: TestClient) -> None:
    for method, path in [
        ("GET", "/runs"),
        ("POST", "/runs"),
        ("GET", "/status"),
        ("GET", "/stream"),
        ("GET", "/trainers"),
    ]:
        answer = client.request(method, f"{API}{path}", headers={"X-API-Key": "wrong"})
        assert answer.status_code == 401


def test_a_session_changes_nothing_from_another_origin(client: TestClient, database: Database) -> None:
    del client.headers["X-API-Key"]
    client.post("/admin/sign-in", data={"key": scenes.KEY})
    run = scenes.run(1, State.QUEUED)
    with database.write() as connection:
        scenes.add(connection, run)
    path = f"{API}/runs/{run.run_id}/cancel"
    assert client.post(path, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
    assert client.post(path, headers={"Origin": "https://evil.example"}).status_code == 403
    assert client.get(f"{API}/runs/{run.run_id}").json()["state"] == "queued"
    assert client.post(path, headers={"Sec-Fetch-Site": "same-origin"}).json()["state"] == "cancelled"
