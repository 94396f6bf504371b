"""Every error leaves through one place, as a page or as JSON of one shape."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes


@pytest.fixture
def signed_in(client: TestClient) -> TestClient:
    scenes.sign_in(client)
    scenes.hand_out(client)
    return client


def _post(client: TestClient, **request: Any) -> Any:
    headers = {"Sec-Fetch-Site": "same-origin", **request.pop("headers", {})}
    return client.post("/annotate/1/answers", headers=headers, **request)


def test_a_script_gets_json_and_a_browser_a_page(client: TestClient) -> None:
    script, browser = client.get("/nowhere"), client.get("/nowhere", headers=scenes.PAGE)
    assert script.status_code == browser.status_code == 404
    assert script.json() == {
        "error": "There is nothing at /nowhere",
        "code": "not_found",
        "hint": "Check the address, or go back to the start.",
    }
    assert "There is nothing at /nowhere." in browser.text
    assert "Your saved answers are safe." in browser.text


def test_markup_in_an_address_or_an_answer_is_text_on_the_page_that_refuses_it(signed_in: TestClient) -> None:
    """annotation 17: error pages, and what a toast says"""
    evil = "<img src=x onerror=alert(1)>"
    page = signed_in.get(f"/nowhere/{evil}", headers=scenes.PAGE)
    assert page.status_code == 404
    assert "<img" not in page.text
    assert "/nowhere/&lt;img src=x onerror=alert(1)&gt;" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    told = _post(signed_in, json={"request_id": "request-1", "annotator": "ann", "answers": {"sentiment": evil}})
    assert (told.status_code, told.headers["content-type"]) == (409, "application/json")


def test_a_method_that_an_address_does_not_take_is_told(client: TestClient) -> None:
    answer = client.delete("/annotate")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        ({"content": b"{no json"}, "The body is not JSON"),
        ({"content": b"\xc3\x28"}, "The request's body could not be read"),
        ({"content": b""}, "The body is missing"),
        ({"json": [1, 2]}, "The body must be a JSON object"),
        ({"json": {"annotator": "ann", "answers": {"sentiment": "positive"}}}, "`request_id` is missing"),
        ({"json": {"request_id": 7}}, "`request_id`: input should be a valid string"),
        (
            {"json": {"request_id": "request-1", "annotator": "ann", "answers": {"a": 1}, "anser": 1}},
            "unknown field `anser`",
        ),
        (
            {"json": {"request_id": "request-1", "annotator": "n" * 300, "answers": {"a": 1}}},
            "`annotator`: string should have at most 200 characters",
        ),
        (
            {"json": {"request_id": "request-1", "annotator": "ann", "answers": {"a": 1}, "elapsed_ms": -1}},
            "`elapsed_ms`: input should be greater than or equal to 0",
        ),
    ],
)
def test_a_body_of_the_wrong_shape_is_a_400_with_a_sentence(
    signed_in: TestClient, request_: dict[str, Any], sentence: str
) -> None:
    answer = _post(signed_in, **{"headers": {"Content-Type": "application/json"}, **request_})
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid_request"
    assert answer.json()["error"].startswith(sentence)


@pytest.mark.parametrize("value", ["\ud800", "x" * 100_000, float("inf"), {"a": [1] * 50}, [["x"]], True, -1])
def test_answers_of_any_kind_are_refused_in_a_sentence(signed_in: TestClient, value: Any) -> None:
    import json

    body = {"request_id": "request-1", "annotator": "ann", "answers": dict.fromkeys(("sentiment", "\udc00"), value)}
    answer = _post(signed_in, content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 409)
    assert answer.json()["error"]


def test_deeply_nested_json_is_a_400(signed_in: TestClient) -> None:
    answer = _post(signed_in, content=b"[" * 200_000, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400


def test_a_body_over_the_limit_is_a_413_that_says_the_limit(signed_in: TestClient) -> None:
    answer = _post(signed_in, content=b"x" * 1_000_001)
    assert answer.status_code == 413
    assert answer.json()["error"] == "The request's body may have up to 1,000,000 bytes; this one has 1,000,001 bytes"


def test_a_body_without_a_length_is_stopped_at_the_limit(signed_in: TestClient) -> None:
    def chunks() -> Any:
        for _ in range(20):
            yield b"x" * 100_000

    answer = _post(signed_in, content=chunks())
    assert answer.status_code == 413


def test_a_mistake_of_the_programs_own_is_a_sentence_without_a_traceback(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a secret detail")

    scenes.sign_in(client)
    monkeypatch.setattr("potato.store.assignments.next_item", broken)
    answer = client.get("/annotate", headers=scenes.PAGE)
    assert answer.status_code == 500
    assert "The server met an error that it did not expect" in answer.text
    assert "secret detail" not in answer.text
    assert "Traceback" not in answer.text
