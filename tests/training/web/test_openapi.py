"""The API's document, and that the API keeps to it whatever it is sent."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.testclient import TestClient

import training_scenes as scenes
from potato.project import Project
from potato.store import Database
from potato.store.training.runs import State

API = "/admin/training/api"

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]

EXAMPLES = int(os.environ.get("POTATO_EXAMPLES", "15"))
"""How many requests of each kind each route gets."""


@pytest.fixture
def filled(client: TestClient, database: Database, project: Project) -> Iterator[TestClient]:
    """A server with runs that have ended, one with files."""
    runs = [scenes.succeeded(1), scenes.run(2, State.ERROR), scenes.run(3, State.CANCELLED)]
    with database.write() as connection:
        scenes.add(connection, *runs, live=runs[0])
    scenes.write_course(project, runs[0].run_id)
    yield client


def test_the_document_is_for_admins(client: TestClient) -> None:
    for path in ("/openapi.json", f"{API}/openapi.json"):
        assert client.get(path).json()["openapi"].startswith("3.")
        assert client.get(path, headers={"X-API-Key": "wrong"}).status_code == 401


def test_the_document_covers_every_route_of_the_api(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    routes = {
        f"{method.upper()} {path.removeprefix(API)}" for path, ways in document["paths"].items() for method in ways
    }
    assert routes == {
        "POST /runs",
        "GET /runs",
        "GET /runs/{run_id}",
        "GET /runs/{run_id}/events",
        "POST /runs/{run_id}/learning-curve",
        "GET /runs/{run_id}/held-out",
        "GET /runs/{run_id}/comparison",
        "GET /runs/{run_id}/stream",
        "GET /runs/{run_id}/curves",
        "GET /runs/{run_id}/log",
        "GET /runs/{run_id}/artifacts/{path}",
        "POST /runs/{run_id}/cancel",
        "POST /runs/{run_id}/copy",
        "DELETE /runs/{run_id}/predictions",
        "GET /runs/{run_id}/use",
        "POST /runs/{run_id}/show",
        "GET /retraining",
        "POST /runs/{run_id}/publications",
        "GET /runs/{run_id}/publications",
        "GET /webhooks",
        "POST /webhooks/{number}/test",
        "GET /reviews/queue",
        "POST /reviews",
        "GET /backends",
        "POST /backends/{name}/check",
        "GET /trainers",
        "GET /schemas",
        "GET /status",
        "GET /stream",
        "POST /training/agent/v1/claim",
        "GET /training/agent/v1/runs/{run_id}/bundle",
        "PUT /training/agent/v1/runs/{run_id}/files/{name}",
        "POST /training/agent/v1/runs/{run_id}/report",
        "POST /training/agent/v1/runs/{run_id}/result",
    }


def test_every_error_in_the_document_has_the_one_shape(client: TestClient) -> None:
    for path, ways in client.get("/openapi.json").json()["paths"].items():
        for method, operation in ways.items():
            wrong = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
            assert {"400", "401"} <= set(wrong), (path, method)
            for answer in wrong.values():
                assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorBody"}


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_nothing_that_is_sent_breaks_the_server(filled: TestClient, mode: GenerationMode) -> None:
    """What fits the document and what does not: every answer is one that the document names, in its shape."""
    document = filled.get("/openapi.json").json()
    for path in (f"{API}/stream", f"{API}/backends/{{name}}/check"):  # the one never ends, the other takes seconds
        del document["paths"][path]
    schema = schemathesis.openapi.from_dict(document)
    schema.app = filled.app
    for result in schema.get_all_operations():
        operation = result.ok()
        try:
            strategy = operation.as_strategy(generation_mode=mode)
        except Unsatisfiable:  # a route without anything that could be wrong
            continue
        _fuzz(strategy)


def _fuzz(strategy: SearchStrategy[schemathesis.Case]) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=strategy)
    def fuzz(case: schemathesis.Case) -> None:
        answer = case.call(headers={"X-API-Key": scenes.KEY})
        case.validate_response(answer, checks=CHECKS)

    fuzz()
