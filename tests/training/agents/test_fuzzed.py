"""What does not belong to the protocol, sent with a valid token: refused with 4xx, and nothing is changed by it."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import training_scenes as scenes
from lab import wait_for
from potato.app import create_app
from potato.store import Database, Writer
from potato.store.clock import to_text
from potato.store.training import agents
from potato.store.training.runs import State
from potato.tasks import TaskRunner
from potato.training.agents.claim import Claim
from potato.training.agents.desk import AgentId, Assignment
from potato.training.agents.door import Door
from potato.training.agents.intake import FILES, Intake, begin_attempt
from potato.training.runs import open_supervisor
from potato.training.runs.folder import RunFolder
from potato.training.runs.notifier import Notifier
from potato.training.web import openapi, routes
from unchanged import difference, snapshot

PREFIX = "/training/agent/v1"
BACKEND = "lab-workstation"
TOKEN = "a-token-of-the-lab"
ME = {"host": "there", "workdir": "/work", "session": "0123456789"}
ATTEMPT = 2
HELD = b'{"v": 1, "event": "log", "t": 1.0, "level": "info", "msg": "hello"}\n'

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
EXAMPLES = int(os.environ.get("POTATO_EXAMPLES", "15"))


class Scene:
    """A served project in this very process, with a run whose second attempt is in an agent's hands."""

    def __init__(self, folder: Path) -> None:
        self.project = scenes.project(folder)
        self.database = Database(self.project.database_url)
        self.database.migrate()
        self.writer = Writer(self.database)
        self.writer.start()
        ours = {"backend": BACKEND, "backend_type": "agent"}
        self.run = scenes.run(4, State.RUNNING, **ours, attempt=ATTEMPT)
        self.others = [scenes.run(1, State.ERROR, **ours), scenes.run(2, State.SUCCESS), scenes.run(3, State.QUEUED)]
        with self.database.write() as connection:
            scenes.add(connection, self.run, *self.others)
            agents.issue(connection, BACKEND, TOKEN, to_text(scenes.NOW))
            agents.see(connection, BACKEND, "there", to_text(scenes.NOW))
        notifier, tasks = Notifier(), TaskRunner(self.project)
        self.supervisor = open_supervisor(self.project, self.database, self.writer, notifier, tasks)
        app = create_app(
            self.project, supervisor=self.supervisor, tasks=tasks, notifier=notifier, clock=lambda: scenes.NOW
        )
        self.port, self._server = _served(app)
        self.folder = RunFolder.of(self.project, self.run.run_id)
        self.door = Door(
            self.supervisor.desk,
            BACKEND,
            self.run.run_id,
            self.folder.path,
            self.folder.archive,
            lambda agent: {"run_id": self.run.run_id, "attempt": ATTEMPT},
        )
        self.reset()

    def reset(self) -> None:
        """The agent has sent a line of the second attempt, and a part of its predictions."""
        shutil.rmtree(self.folder.path, ignore_errors=True)
        self.folder.path.mkdir(parents=True)
        self.folder.archive.write_bytes(b"packed" * 100)
        self.folder.events.write_bytes(b"of the first attempt\n")
        agent = AgentId(**ME)
        claim = Claim(agent, ATTEMPT, begin_attempt(self.folder.path))
        claim.write(self.folder.path)
        intake = Intake(self.folder.path, claim.bases, 1)
        self.assignment = Assignment(self.run.run_id, BACKEND, agent, ATTEMPT, intake=intake)
        self.assignment.on_result = lambda result: Claim(agent, ATTEMPT, claim.bases, result).write(self.folder.path)
        self.supervisor.desk.assign(self.assignment)
        intake.append("events.jsonl", 0, HELD)
        intake.append("predictions.jsonl", 0, b"{}\n")

    def state(self) -> dict[str, Any]:
        """All that an agent could change."""
        names = ("agent", "attempt", "cancel", "result", "failure", "taken_by", "step", "clock_off_s")
        known = {name: getattr(self.assignment, name) for name in names}
        known["in hand"] = self.supervisor.desk.assignment(self.run.run_id) is self.assignment
        return {**known, **snapshot(self.project.file.parent)}

    def close(self) -> None:
        self._server.should_exit = True
        self.writer.close()
        self.database.close()

    def asked(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
        """One request with the token, its path taken as it stands; the status, and the JSON that came back."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        whole = {
            "Authorization": f"Bearer {TOKEN}",
            "Content-Type": "application/json" if method == "POST" else "application/octet-stream",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        connection.request(method, PREFIX + path, body, whole)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer.status, json.loads(said) if "json" in answer.headers.get("content-type", "") else said

    def asked_at_the_door(self, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, Any]:
        """The same of the run's own door, as the channel of an ssh run brings it."""
        answer = self.door.answer(method, PREFIX + path, headers, body)
        json_ = "json" in answer.headers["content-type"]
        return answer.status, json.loads(answer.body) if json_ else answer.body


def _served(app: Any) -> tuple[int, uvicorn.Server]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    wait_for(lambda: server.started)
    return listener.getsockname()[1], server


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    made = Scene(tmp_path_factory.mktemp("fuzzed"))
    yield made
    made.close()


def run_path(scene: Scene, rest: str) -> str:
    """`rest` below the run in hand; `RUN` stands for its id."""
    return rest.replace("RUN", scene.run.run_id)


def piece(name: str = "events.jsonl", attempt: Any = ATTEMPT, offset: Any = 0, more: str = "") -> str:
    return f"/runs/RUN/files/{name}?attempt={attempt}&offset={offset}{more}"


NAMES = (
    "spec.json", "run.log", "agent.json", "bundle.tar.gz", "events.jsonl.part", "predictions.jsonl.part", "..", ".",
    "%2e%2e", "..%2Frun.log", "..%2F..%2Fx", "%2Fetc%2Fpasswd", "/etc/passwd", "events.jsonl/", "events.jsonl%00",
    "events.jsonl%00.png", "EVENTS.JSONL", "events.jsonl%20", "%20events.jsonl", "events%EF%BC%8Ejsonl", "%FF%FE",
    "%ED%A0%80", "x" * 101, "x" * 5000, "%F0%9F%99%82", "..%5Crun.log", "C:%5Cx", "~", "%", "%zz", "a;b", "*",
)  # fmt: skip
NUMBERS = (
    "", "-1", "-0", "1.5", "1e3", "0x10", "NaN", "Infinity", "true", "null", "%00", "1%00", "+1", "1,2", "1%202", "[]",
    "9223372036854775808", "18446744073709551616", "9" * 400, "9" * 5000, "%D9%A1%D9%A1%D9%A1%D9%A1", "__import__",
)  # fmt: skip
RUNS = (
    "..", ".", "%2e%2e", "..%2F..%2Fother", "none", "", "%00", "RUN%00", "RUN%20", "%20RUN", "RUN/..", "RUN%2F",
    "x" * 201, "x" * 9000, "%ED%A0%80", "*", "20261129*", "%25", "%F0%9F%99%82", "RUN%0A", "'%20OR%201=1--",
    "NULL", "0",
)  # fmt: skip
BODIES: tuple[bytes, ...] = (
    b"", b"null", b"[]", b"0", b'"x"', b"{", b"{}", b"\xff\xfe", b"\x00", b"[" * 100_000, b'{"a":' * 50_000,
    b'{"attempt": 2', b'{"attempt": null}', b'{"attempt": true, "step": 1}', b'{"attempt": "2x"}', b'{"attempt": 2.5}',
    b'{"attempt": -2}', b'{"attempt": 0}', b'{"attempt": 1e400}', b'{"attempt": NaN}', b'{"attempt": 2147483649}',
    b'{"attempt": ' + b"9" * 5000 + b"}", b'{"attempt": [2]}', b'{"attempt": {"$gt": 0}}',
)  # fmt: skip
RESULTS: tuple[dict[str, Any], ...] = (
    {"files": {"../x": {"bytes": 0, "sha256": "0" * 64}}},
    {"files": {"spec.json": {"bytes": 0, "sha256": "0" * 64}}},
    {"files": {"events.jsonl": {"bytes": 0, "sha256": "0" * 64}, "run.log": {"bytes": 1, "sha256": "0" * 64}}},
    {"files": {"events.jsonl": {"bytes": 10**30, "sha256": "0" * 64}}},
    {"files": {"events.jsonl": {"bytes": -1, "sha256": "0" * 64}}},
    {"files": {"events.jsonl": {"bytes": len(HELD), "sha256": "0" * 63}}},
    {"files": {"events.jsonl": {"bytes": len(HELD), "sha256": "G" * 64}}},
    {"files": {"events.jsonl": {"bytes": len(HELD)}}},
    {"files": {"stderr.log": {"bytes": 5, "sha256": "0" * 64}}},
    {"files": {"predictions.jsonl": {"bytes": 4, "sha256": "0" * 64}}},
    {"files": {str(n): {"bytes": 1, "sha256": "0" * 64} for n in range(17)}},
    {"files": []},
    {"exit_code": "zero"},
    {"exit_code": 0.5},
    {"reason": "x" * 4097},
    {"reason": "\ud800"},
    {"artifact_uri": "x" * 4097},
    {"artifact_uri": ["host:/x"]},
    {"attempt": 1},
    {"attempt": 3},
    {"warnings": ["x"] * 17},
    {"warnings": "x"},
)
REPORTS: tuple[dict[str, Any], ...] = (
    {"step": "x" * 301},
    {"step": "\ud800"},
    {"step": None},
    {"clock": "noon"},
    {"clock": "NaN"},
    {"attempt": 1},
    {"attempt": 3},
)
CLAIMS: tuple[dict[str, Any], ...] = (
    {"protocol": 0},
    {"protocol": -1},
    {"protocol": 10**40},
    {"backend": "other"},
    {"backend": "local"},
    {"backend": ""},
    {"backend": "x" * 5000},
    {"backend": BACKEND + "\0"},
    {"wait_s": -1},
    {"wait_s": 61},
    {"wait_s": "NaN"},
    {"agent": None},
    {"agent": {**ME, "host": ""}},
    {"agent": {**ME, "host": "x" * 256}},
    {"agent": {**ME, "host": "\ud800"}},
    {"agent": {**ME, "workdir": "x" * 5000}},
    {"agent": {**ME, "session": "short"}},
    {"agent": {**ME, "session": "x" * 65}},
    {"agent": {**ME, "workdir": "/elsewhere"}},  # another agent's
)


def requests() -> Iterator[tuple[str, str, bytes]]:
    """Everything of the above, as method, path and body."""
    for name in NAMES:
        yield "PUT", piece(name), b"x"
    for number in NUMBERS:
        yield "PUT", piece(attempt=number), b"x"
        yield "GET", f"/runs/RUN/bundle?attempt={number}", b""
        if number not in ("-0", "+1"):  # numbers after all
            yield "PUT", piece(offset=number), b"x"
    for offset in (len(HELD) + 1, 1 << 53, (1 << 53) + 1, 1 << 62, -len(HELD)):
        yield "PUT", piece(offset=offset), b"x"
    for attempt in (1, 3, 1 << 31, (1 << 31) + 1):
        yield "PUT", piece(attempt=attempt), b"x"
        yield "GET", f"/runs/RUN/bundle?attempt={attempt}", b""
    yield "PUT", "/runs/RUN/files/events.jsonl", b"x"
    yield "PUT", f"/runs/RUN/files/events.jsonl?offset={len(HELD)}", b"x"
    yield "PUT", "/runs/RUN/files/events.jsonl?attempt=2", b"x"
    yield "PUT", piece("predictions.jsonl", offset=4), b"x"
    for run in RUNS:
        yield "GET", f"/runs/{run}/bundle?attempt=2", b""
        yield "PUT", f"/runs/{run}/files/events.jsonl?attempt=2&offset={len(HELD)}", b"x"
        yield "POST", f"/runs/{run}/report", b'{"attempt": 2}'
        yield "POST", f"/runs/{run}/result", b'{"attempt": 2}'
    for body in BODIES:
        for route in ("/runs/RUN/report", "/runs/RUN/result", "/claim"):
            yield "POST", route, body
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        yield method, "/claim", b""
        yield method, "/runs/RUN/result", b'{"attempt": 2}'
    yield "POST", piece(), b"x"
    yield "DELETE", piece(), b""
    for changed in RESULTS:
        yield "POST", "/runs/RUN/result", json.dumps({"attempt": ATTEMPT, "exit_code": 0, **changed}).encode()
    for changed in REPORTS:
        yield "POST", "/runs/RUN/report", json.dumps({"attempt": ATTEMPT, **changed}).encode()


def test_an_honest_request_is_taken(scene: Scene) -> None:
    """So that what is refused below is refused for what is wrong with it."""
    for asked in (scene.asked, scene.asked_at_the_door):
        scene.reset()
        assert asked("PUT", run_path(scene, piece(offset=len(HELD))), b"x") == (200, {"length": len(HELD) + 1})
        status, said = asked("POST", run_path(scene, "/runs/RUN/report"), b'{"attempt": 2, "step": "here"}')
        assert (status, said["held"]["events.jsonl"], scene.assignment.step) == (200, len(HELD) + 1, "here")
        assert len(asked("GET", run_path(scene, "/runs/RUN/bundle?attempt=2"))[1]) == 600
        assert asked("POST", run_path(scene, "/runs/RUN/result"), b'{"attempt": 2}') == (200, {"taken": True})


def test_what_is_no_request_of_an_agent_changes_nothing(scene: Scene) -> None:
    scene.reset()
    before = scene.state()
    for method, path, body in requests():
        whole = run_path(scene, path)
        status, said = scene.asked(method, whole, body)
        assert 400 <= status < 500, (method, path, body[:80], status, said)
        assert isinstance(said, dict) and said["error"] and said["code"], (method, path, said)
        assert not difference(before, scene.state()), (method, path, body[:80], status)


def test_the_door_of_a_run_refuses_the_same(scene: Scene) -> None:
    scene.reset()
    before = scene.state()
    for method, path, body in requests():
        if path == "/claim" and body == b"{}":
            continue
        status, said = scene.asked_at_the_door(method, run_path(scene, path), body)
        assert 400 <= status < 500, (method, path, body[:80], status, said)
        assert not difference(before, scene.state()), (method, path, body[:80], status)


def test_a_claim_that_is_not_the_agents_changes_nothing(scene: Scene) -> None:
    scene.reset()
    whole = {"protocol": 1, "backend": BACKEND, "agent": ME, "wait_s": 0}
    scene.asked("POST", "/claim", json.dumps(whole).encode())  # the agent is heard
    before = scene.state()
    for changed in CLAIMS:
        status, said = scene.asked("POST", "/claim", json.dumps({**whole, **changed}).encode())
        assert 400 <= status < 500, (changed, status, said)
        assert not difference(before, scene.state()), changed


def test_runs_that_are_not_in_this_agents_hands_are_not_to_be_had(scene: Scene) -> None:
    scene.reset()
    before = scene.state()
    for run in scene.others:
        for method, rest, body in (
            ("GET", "bundle?attempt=1", b""),
            ("PUT", "files/events.jsonl?attempt=1&offset=0", b"x"),
            ("POST", "report", b'{"attempt": 1}'),
            ("POST", "result", b'{"attempt": 1}'),
        ):
            status, said = scene.asked(method, f"/runs/{run.run_id}/{rest}", body)
            assert (status, said["code"]) in ((404, "not_your_run"), (410, "run_is_over")), (run.state, rest)
            assert (status == 410) == (run.backend == BACKEND)
            assert scene.asked_at_the_door(method, f"/runs/{run.run_id}/{rest}", body)[0] == 404
    assert not difference(before, scene.state())
    assert not any(RunFolder.of(scene.project, run.run_id).path.exists() for run in scene.others)


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN} x", TOKEN,
     "Bearer \xff\xfe", f"Token {TOKEN}", f"Bearer: {TOKEN}", "Bearer " + "x" * 20_000],
)  # fmt: skip
def test_what_is_not_the_token_is_not_taken(scene: Scene, given: str) -> None:
    scene.reset()
    before = scene.state()
    status, said = scene.asked("PUT", run_path(scene, piece(offset=len(HELD))), b"x", Authorization=given)
    assert (status, said["code"]) == (401, "token_not_taken")
    assert not difference(before, scene.state())


def test_a_header_that_is_not_http_comes_no_further_than_the_door(scene: Scene) -> None:
    scene.reset()
    before = scene.state()
    status, said = scene.asked(
        "PUT", run_path(scene, piece(offset=len(HELD))), b"x", Authorization=f"Bearer {TOKEN}\x7f"
    )
    assert (status, said) == (400, b"Invalid HTTP request received.")
    assert not difference(before, scene.state())


@pytest.mark.parametrize(
    "given",
    ["bytes=600-", "bytes=10-2", "bytes=-0", "bytes=x-y", "bytes=", "bytes=9999999999999999999-", "bits=0-1", "",
     "bytes=-9999999999", "bytes=0-99999999999999999999", "bytes=1-2,4-5", "bytes=" + ",".join(["0-"] * 1000),
     "bytes=" + ",".join(f"{n}-{n}" for n in range(0, 600, 2)), "bytes=٣-", "bytes=+1-2", "bytes= 1 - 2 "],
)  # fmt: skip
def test_an_odd_range_costs_no_more_than_the_bundle(scene: Scene, given: str) -> None:
    """What is asked for in a thousand parts is not sent a thousand times."""
    scene.reset()
    before = scene.state()
    path = run_path(scene, f"/runs/RUN/bundle?attempt={ATTEMPT}")
    headers = {"Range": given.encode().decode("latin-1")}
    status, said = scene.asked("GET", path, **headers)
    assert status in (200, 206, 400, 416)
    assert status >= 400 or len(said) < 600 * 100
    assert scene.asked_at_the_door("GET", path, Range=given)[0] in (206, 400, 416)
    assert not difference(before, scene.state())


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("Content-Length: -1", b"x"),
        ("Content-Length: x", b"x"),
        ("Content-Length: 99999999999999999999999", b"x"),
        ("Content-Length: 5", b"x"),
        ("Transfer-Encoding: chunked", b"ffffffffffffffffff\r\nx\r\n0\r\n\r\n"),
        ("Content-Length: 1000001", b"x" * 1_000_001),
        ("Content-Length: 1\r\nContent-Length: 2", b"xx"),
        ("Transfer-Encoding: chunked", b"zz\r\nx\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked", b"-1\r\nx\r\n0\r\n\r\n"),
        ("Transfer-Encoding: chunked", b"100000\r\n" + b"x" * 0x100000 + b"\r\n0\r\n\r\n"),
        ("Transfer-Encoding: gzip", b"x"),
        ("X: " + "x" * 200_000, b""),
        ("no colon", b""),
    ],
)
def test_a_body_without_an_honest_length_changes_nothing(scene: Scene, head: str, body: bytes) -> None:
    scene.reset()
    before = scene.state()
    path = PREFIX + run_path(scene, piece(offset=len(HELD)))
    lines = [f"PUT {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {TOKEN}", "Connection: close", head, "", ""]
    with socket.create_connection(("127.0.0.1", scene.port), timeout=30) as connection:
        try:
            connection.sendall("\r\n".join(lines).encode() + body)
            connection.shutdown(socket.SHUT_WR)
            said = connection.recv(1 << 16)
        except OSError:  # hung up in the middle of it
            said = b""
    assert said == b"" or said.startswith(b"HTTP/1.1 4"), said
    for _ in range(3):  # by then whatever the server makes of the other is done
        scene.asked("POST", "/claim", b"")
    assert not difference(before, scene.state())


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_whatever_the_document_allows_or_forbids(scene: Scene, mode: GenerationMode) -> None:
    """Each answer is one that the document names, in its shape; and one that is no, changed nothing."""
    document = openapi.document(routes.api)
    document["paths"] = {path: ways for path, ways in document["paths"].items() if path.startswith(PREFIX)}
    assert len(document["paths"]) == 5
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=f"http://127.0.0.1:{scene.port}")
    for result in schema.get_all_operations():
        operation = result.ok()
        try:
            strategy = operation.as_strategy(generation_mode=mode)
        except Unsatisfiable:  # a route without anything that could be wrong
            continue
        _fuzz(scene, strategy)


def _fuzz(scene: Scene, strategy: st.SearchStrategy[schemathesis.Case]) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(strategy, st.booleans(), st.sampled_from([None, 1, 2]), st.sampled_from(FILES), st.sampled_from([0, 3, 99]))
    def fuzz(case: schemathesis.Case, ours: bool, attempt: int | None, name: str, offset: int) -> None:
        if ours:
            _aim(scene, case, attempt, name, offset)
        if isinstance(case.body, dict) and isinstance(case.body.get("wait_s", 25), (int, float)):
            case.body["wait_s"] = 0
        before = scene.state()
        answer = case.call(headers={"Authorization": f"Bearer {TOKEN}"})
        case.validate_response(answer, checks=CHECKS)
        if answer.status_code >= 400 and answer.json()["code"] != "incomplete":  # a file that differs is begun anew
            assert not difference(before, scene.state())
        elif scene.state() != before:
            scene.reset()

    scene.reset()
    fuzz()


def _aim(scene: Scene, case: schemathesis.Case, attempt: int | None, name: str, offset: int) -> None:
    """Let a made-up request be for the run in hand."""
    if "run_id" in case.path_parameters:
        case.path_parameters["run_id"] = scene.run.run_id
    if "name" in case.path_parameters:
        case.path_parameters["name"] = name
    if attempt is not None and "attempt" in case.query:
        case.query.update(attempt=attempt, **({"offset": offset} if "offset" in case.query else {}))
    if attempt is not None and isinstance(case.body, dict):
        case.body["attempt"] = attempt
