"""`/metrics` says how the server does, to those who may know, at a price that does not grow with the items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import event
from starlette.testclient import TestClient

import site_scenes as scenes
import training_scenes
from potato.metrics.requests import route_of
from potato.store import Database
from potato.store.training import agents, deliveries
from potato.store.training import runs as rows
from potato.store.training.runs import State

TOKEN = "the-token-of-prometheus"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
HOOK = {"url": "http://127.0.0.1:9/x"}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    training = {"enabled": True, "webhooks": [HOOK], "backends": {"lab": {"type": "agent"}}}
    project = scenes.project(tmp_path, metrics_token=TOKEN, model_training=training)
    with scenes.served(project) as client:
        yield client


def scraped(client: TestClient) -> dict[tuple[str, ...], float]:
    """Name and label values, by the labels' names → value, of every sample, as Prometheus' own parser reads it."""
    answer = client.get("/metrics", headers=BEARER)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def test_requests_are_counted_by_route_and_status_not_by_address(client: TestClient) -> None:
    for path in ("/healthz", "/healthz", "/annotate/3", "/annotate/4", "/static/potato.css", "/no/such/thing"):
        client.get(path)
    client.get("/admin/training/api/runs/xyz", headers={"X-API-Key": scenes.KEY})
    client.request("BREW", "/healthz")
    found = scraped(client)
    assert found["potato_requests_total", "GET", "/healthz", "200"] == 2
    assert found["potato_requests_total", "GET", "/annotate/{seq}", "401"] == 2
    assert found["potato_requests_total", "GET", "/static", "200"] == 1
    assert found["potato_requests_total", "GET", "none", "404"] == 1
    assert found["potato_requests_total", "GET", "/admin/training/api/runs/{run_id}", "404"] == 1
    assert found["potato_requests_total", "other", "/healthz", "405"] == 1
    assert found["potato_request_seconds_count", "GET", "/healthz"] == 2
    assert found["potato_request_seconds_bucket", "+Inf", "GET", "/healthz"] == 2
    assert "xyz" not in client.get("/metrics", headers=BEARER).text


def test_what_annotators_do_is_counted(client: TestClient) -> None:
    before = scraped(client)
    assert (before["potato_items",], before["potato_items_done",], before["potato_saves_total",]) == (3, 0, 0)
    scenes.sign_in(client)
    item = scenes.hand_out(client)
    scenes.save(client, item, {"sentiment": "positive"})
    scenes.save(client, item, {"sentiment": "negative"}, "request-2")
    found = scraped(client)
    assert found["potato_annotators",] == 1
    assert found["potato_annotations",] == 1
    assert found["potato_saves_total",] == 2
    assert found["potato_items_done",] == 1
    assert found["potato_requests_total", "POST", "/annotate/{seq}/answers", "200"] == 2
    assert found["process_resident_memory_bytes",] > 10_000_000


def test_runs_agents_and_webhooks_are_told(client: TestClient, tmp_path: Path) -> None:
    site = client.app.state.site  # type: ignore[attr-defined]
    database: Database = site.database
    ended = training_scenes.succeeded(5)
    (key,) = _hooks(site.project)
    with database.write() as connection:
        for run in (training_scenes.run(3, State.ERROR), ended, training_scenes.run(6, State.QUEUED)):
            rows.add(connection, replace(run))
        agents.issue(connection, "lab", "a-token", "2026-11-29T14:00:00.000Z")
        agents.see(connection, "lab", "host", "2026-11-29T14:15:00.000Z")
        deliveries.add(connection, key, "d1", "test", "{}", "2026-11-29T14:15:00.000Z")
        deliveries.put_off(connection, "d1", 500, "it answered 500", "2126-11-29T14:15:00.000Z")
    site.clock = lambda: training_scenes.NOW
    found = scraped(client)
    assert found["potato_queue_length",] == 1
    assert [found["potato_runs", state] for state in ("success", "error", "running")] == [1, 1, 0]
    assert found["potato_last_run_seconds", "local", "success", "sklearn-text"] == 74
    assert found["potato_agent_last_seen_seconds", "lab"] == 45 * 60
    assert found["potato_webhook_waiting", "1"] == 1
    assert found["potato_webhook_attempts_total", "refused"] == 1


def _hooks(project: Any) -> list[str]:
    from potato.training.webhooks.hooks import hooks_of

    return [hook.key for hook in hooks_of(project)]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({"Authorization": f"Basic {TOKEN}"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"X-API-Key": "wrong"}, 401),
        ({"X-API-Key": TOKEN}, 401),
        (BEARER, 200),
        ({"Authorization": f"bearer {scenes.KEY}"}, 200),
        ({"X-API-Key": scenes.KEY}, 200),
    ],
)
def test_only_those_with_a_key_may_know(client: TestClient, headers: dict[str, str], status: int) -> None:
    assert client.get("/metrics", headers=headers).status_code == status


def test_the_metrics_token_opens_nothing_else(client: TestClient) -> None:
    for headers in (BEARER, {"X-API-Key": TOKEN}):
        assert client.get("/admin/training/api/runs", headers=headers).status_code == 401


@pytest.mark.sqlite("it reads SQLite's plans")
def test_a_scrape_reads_nothing_that_grows_with_the_items(client: TestClient) -> None:
    site = client.app.state.site  # type: ignore[attr-defined]
    asked: list[str] = []
    event.listen(site.database.engine, "before_cursor_execute", lambda *args: asked.append(args[2]))
    scraped(client)
    counted = [statement for statement in asked if "count(" in statement.lower()]
    assert asked and all("FROM users" in one or "FROM runs" in one or "FROM deliveries" in one for one in counted)
    with site.database.read() as connection:
        for statement in {one for one in asked if one.startswith("SELECT") and "?" not in one}:
            plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}").all())
            assert not any(f"SCAN {name}" in plan for name in ("items", "annotations", "predictions", "assignments"))


def test_a_route_whose_name_is_in_its_prefix_alone_is_whole() -> None:
    class Route:
        path_format = "/runs/{run_id}"

    scope = {"path": "/admin/api/runs/a b", "path_params": {"run_id": "a b"}, "route": Route()}
    assert route_of(scope) == "/admin/api/runs/{run_id}"


def test_the_docs_name_every_metric(client: TestClient) -> None:
    text = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text("utf-8")
    names = {key[0] for key in scraped(client) if key[0].startswith("potato_")}
    endings = ("_bucket", "_count", "_sum", "_created")
    families = {next((name.removesuffix(end) for end in endings if name.endswith(end)), name) for name in names}
    assert {name for name in families if f"`{name}`" not in text and f"`{name}_total`" not in text} == set()
