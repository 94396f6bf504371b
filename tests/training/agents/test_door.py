"""The door of one run: what its agent is answered through a channel, and that nothing else is behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from potato.training.agents.answers import PREFIX
from potato.training.agents.claim import Claim
from potato.training.agents.desk import AgentId, Assignment, Desk
from potato.training.agents.door import RANGE, Door
from potato.training.agents.intake import Intake, begin_attempt
from potato.training.web import openapi, routes

RUN = "20261129T141500-abcdef"
ME = {"host": "there", "workdir": "/work", "session": "0123456789"}


class Scene:
    """A door whose run is in hand, and a bundle of 2.5 ranges."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bundle = bytes(range(256)) * (RANGE // 256 * 5 // 2)
        (folder / "bundle.tar.gz").write_bytes(self.bundle)
        self.desk = Desk()
        self.claims: list[AgentId] = []
        self.door = Door(self.desk, "gpu", RUN, folder, folder / "bundle.tar.gz", self.offer)

    def offer(self, agent: AgentId) -> Mapping[str, Any]:
        self.claims.append(agent)
        intake = Intake(self.folder, begin_attempt(self.folder), 1)
        self.assignment = Assignment(RUN, "gpu", agent, 1, intake)
        claim = Claim(agent, 1, {})
        self.assignment.on_result = lambda result: Claim(agent, 1, claim.bases, result).write(self.folder)
        self.desk.assign(self.assignment)
        return {"run_id": RUN, "attempt": 1}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        answer = self.door.answer(method, PREFIX + path, headers, data)
        return answer.status, json.loads(answer.body) if "json" in answer.headers["content-type"] else answer.body


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A run that was claimed."""
    made = Scene(tmp_path)
    assert made.ask("POST", "/claim", {"protocol": 1, "backend": "x", "agent": ME})[1]["job"]["run_id"] == RUN
    return made


def test_a_whole_job_goes_through(scene: Scene) -> None:
    got = b""
    while len(got) < len(scene.bundle):
        status, piece = scene.ask("GET", f"/runs/{RUN}/bundle?attempt=1", Range=f"bytes={len(got)}-{1 << 40}")
        assert status == 206 and 0 < len(piece) <= RANGE
        got += piece
    assert got == scene.bundle
    assert scene.ask("PUT", f"/runs/{RUN}/files/events.jsonl?attempt=1&offset=0", b"line\n") == (200, {"length": 5})
    assert scene.ask("PUT", f"/runs/{RUN}/files/events.jsonl?attempt=1&offset=9", b"x")[1]["length"] == 5
    status, report = scene.ask("POST", f"/runs/{RUN}/report", {"attempt": 1, "step": "fetching"})
    assert (status, report["cancel"], scene.assignment.step) == (200, False, "fetching")
    for _ in range(2):
        end = {"attempt": 1, "exit_code": 0}
        assert scene.ask("POST", f"/runs/{RUN}/result", end) == (200, {"taken": True})
    assert scene.assignment.result is not None and scene.assignment.result["exit_code"] == 0


def test_after_its_end_nothing_is_taken(scene: Scene) -> None:
    scene.desk.release(RUN)
    assert scene.ask("POST", f"/runs/{RUN}/report", {"attempt": 1})[1]["code"] == "run_is_over"
    assert scene.ask("PUT", f"/runs/{RUN}/files/stderr.log?attempt=1&offset=0", b"x")[0] == 410


def test_only_this_run_is_behind_it(scene: Scene) -> None:
    other = "20261129T141500-000000"
    for method, path, body in (
        ("GET", f"/runs/{other}/bundle?attempt=1", None),
        ("PUT", f"/runs/{other}/files/events.jsonl?attempt=1&offset=0", b"x"),
        ("POST", f"/runs/{other}/report", {"attempt": 1}),
        ("POST", f"/runs/{other}/result", {"attempt": 1}),
        ("GET", f"/runs/..%2F{RUN}/bundle?attempt=1", None),
    ):
        status, answer = scene.ask(method, path, body)
        assert (status, answer["code"]) == (404, "not_your_run"), path


def test_no_other_route_of_the_server_is_behind_it(scene: Scene) -> None:
    tried = 0
    for path, ways in openapi.document(routes.api)["paths"].items():
        if path.startswith(PREFIX):
            continue
        for method in ways:
            answer = scene.door.answer(method.upper(), path.replace("{run_id}", RUN), {}, b"{}")
            assert answer.status == 404 and json.loads(answer.body)["code"] == "not_found", (method, path)
            tried += 1
    assert tried > 15
    for path in ("", "/", "/../../../admin", "http://elsewhere" + PREFIX, PREFIX, PREFIX + "/", PREFIX + "/claim/x"):
        assert scene.door.answer("GET", path, {}, b"").status == 404, path


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/claim", b"", 400),
        ("POST", "/claim", {"protocol": 2, "backend": "x", "agent": ME}, 400),
        ("POST", f"/runs/{RUN}/report", b"[]", 400),
        ("POST", f"/runs/{RUN}/report", {"attempt": 2}, 409),
        ("PUT", f"/runs/{RUN}/files/events.jsonl?attempt=1&offset=-1", b"x", 400),
        ("PUT", f"/runs/{RUN}/files/events.jsonl?offset=0", b"x", 400),
        ("PUT", f"/runs/{RUN}/files/spec.json?attempt=1&offset=0", b"x", 404),
        ("PUT", f"/runs/{RUN}/files/..%2Fx?attempt=1&offset=0", b"x", 404),
        ("PUT", f"/runs/{RUN}/files/events.jsonl?attempt=1&offset=0", b"x" * (1 << 20) + b"x", 413),
        ("PUT", f"/runs/{RUN}/files/predictions.jsonl?attempt=1&offset=0", b"x" * 1_000_001, 413),
    ],
)
def test_what_is_no_request_of_an_agent_is_refused(
    scene: Scene, method: str, path: str, body: Any, status: int
) -> None:
    assert scene.ask(method, path, body)[0] == status


@pytest.mark.parametrize("wanted", ["bytes=-5", "bytes=x-", "items=0-", f"bytes={1 << 50}-"])
def test_a_range_that_is_none_is_refused(scene: Scene, wanted: str) -> None:
    assert scene.ask("GET", f"/runs/{RUN}/bundle?attempt=1", Range=wanted)[0] in (400, 416)
