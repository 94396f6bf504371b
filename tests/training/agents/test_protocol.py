"""The agents' API by hand: who may ask what, and what bad requests are answered."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from agent_scene import BACKEND, Served

PREFIX = "/training/agent/v1"
ME = {"host": "there", "workdir": "/work", "session": "0123456789"}


def asked(server: Served, token: str, method: str, path: str, **body: Any) -> httpx.Response:
    """One request of an agent."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.request(method, server.url + PREFIX + path, headers=headers, timeout=60, **body)


def claim(server: Served, token: str, **changes: Any) -> httpx.Response:
    """A claim that waits a moment."""
    body = {"protocol": 1, "backend": BACKEND, "agent": ME, "wait_s": 20, **changes}
    return asked(server, token, "POST", "/claim", json=body)


def test_one_job_by_hand(server: Served, token: str) -> None:
    run_id = server.submit()
    job = claim(server, token, newer_field="ignored").json()["job"]
    assert job["run_id"] == run_id and job["attempt"] == 1
    assert claim(server, token).json()["job"] == job, "a claim whose answer was lost costs nothing"
    other = {**ME, "workdir": "/elsewhere"}
    refused = claim(server, token, agent=other)
    assert (refused.status_code, refused.json()["code"]) == (409, "backend_held")
    path = f"/runs/{run_id}"
    size = job["bundle"]["bytes"]
    whole = asked(server, token, "GET", f"{path}/bundle?attempt=1").content
    assert len(whole) == size
    headers = {"Authorization": f"Bearer {token}", "Range": f"bytes={size - 10}-"}
    piece = httpx.get(f"{server.url}{PREFIX}{path}/bundle?attempt=1", headers=headers)
    assert piece.status_code == 206 and piece.content == whole[-10:]
    assert asked(server, token, "PUT", f"{path}/files/events.jsonl?attempt=2&offset=0", content=b"x").json()[
        "code"
    ] == ("old_attempt")
    for name, offset, status in (
        ("spec.json", 0, 404),
        ("..%2Fx", 0, 404),
        ("events.jsonl", 5, 409),
        ("events.jsonl", -1, 400),
    ):
        answer = asked(server, token, "PUT", f"{path}/files/{name}?attempt=1&offset={offset}", content=b"x")
        assert answer.status_code == status, (name, answer.text)
    report = asked(server, token, "POST", f"{path}/report", json={"attempt": 1, "clock": 0}).json()
    assert report["cancel"] is False and report["held"]["events.jsonl"] == 0
    result = {"attempt": 1, "exit_code": 1, "files": {}}
    for _ in range(3):
        assert asked(server, token, "POST", f"{path}/result", json=result).json() == {"taken": True}
    assert server.finished(run_id)["state"] == "error"
    assert asked(server, token, "POST", f"{path}/result", json=result).json() == {"taken": True}
    assert asked(server, token, "POST", f"{path}/report", json={"attempt": 1}).json()["code"] == "run_is_over"
    assert "seconds off; nothing depends on it" in server.log(run_id)


def test_nobody_without_the_backends_token_gets_anything(server: Served, token: str) -> None:
    local = server.submit(backend="local", seconds=1)
    for given in ("", "wrong", token + "x", "lab-key"):
        assert claim(server, given).status_code == 401
        assert asked(server, given, "POST", f"/runs/{local}/report", json={"attempt": 1}).status_code == 401
    for route in ("report", "result"):
        answer = asked(server, token, "POST", f"/runs/{local}/{route}", json={"attempt": 1})
        assert (answer.status_code, answer.json()["code"]) == (404, "not_your_run")
    assert (
        httpx.get(f"{server.url}/admin/training/api/runs", headers={"Authorization": f"Bearer {token}"}).status_code
        == 401
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b'{"protocol": "x"}',
        json.dumps({"protocol": 1, "backend": BACKEND}).encode(),
        b"\xff",
    ],
)
def test_a_claim_that_is_none_is_answered_400(server: Served, token: str, body: bytes) -> None:
    answer = asked(server, token, "POST", "/claim", content=body)
    assert answer.status_code == 400 and answer.json()["error"]


def test_another_protocol_is_said(server: Served, token: str) -> None:
    answer = claim(server, token, protocol=2)
    assert (answer.status_code, answer.json()["code"]) == (400, "protocol_mismatch")


def test_the_token_stands_nowhere_but_as_a_hash(server: Served, token: str) -> None:
    claim(server, token, wait_s=0)
    for path in server.lab.folder.rglob("*"):
        if path.is_file():
            assert token.encode() not in path.read_bytes(), path


def test_the_menu_says_when_the_agent_was_seen(server: Served, token: str) -> None:
    def label() -> str:
        entries = server.http.get("/admin/training/api/backends").json()["backends"]
        return next(entry["label"] for entry in entries if entry["name"] == BACKEND)

    assert label() == f"{BACKEND} (agent, never seen)"
    claim(server, token, wait_s=0)
    assert label().startswith(f"{BACKEND} (agent, last seen ")
