"""The agent's token: known to the agent alone, and good for its own backend's runs alone."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent_scene import API, BACKEND, KEY, RunningAgent, Served, agent_lab
from lab import Lab, use_fakes, wait_for
from ports import free_port
from potato.store import tables
from potato.training.agents.tokens import register
from potato.training.worker.launch import find_marked
from standin import TOKEN, serving
from unchanged import snapshot

PREFIX = "/training/agent/v1"
OTHER = "other-workstation"


class Watch:
    """Looks at every process of this machine again and again for a secret. `seen` are the command lines;
    `owner` may have it in its environment, as it was given there."""

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.owner = 0
        self.seen: dict[str, bytes] = {}
        self._lines: set[str] = set()
        self._environs: set[tuple[str, bytes]] = set()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    @property
    def found(self) -> set[str]:
        """Where it stood. A child of the owner that has yet to become another program is the owner still."""
        owner = str(self.owner)
        strange = {line for pid, line in self._environs if pid != owner and line != self.seen.get(owner)}
        return self._lines | {f"the environment of {line!r}" for line in strange}

    def has_seen(self, part: str) -> bool:
        """Whether a process with `part` in its command line was looked at, environment and all."""
        return any(part.encode() in line for line in list(self.seen.values()))

    def _watch(self) -> None:
        while not self._done.wait(0.01):
            for folder in Path("/proc").iterdir():
                if folder.name.isdigit():
                    self._look(folder.name)

    def _look(self, pid: str) -> None:
        try:
            line, environ = (Path("/proc", pid, name).read_bytes() for name in ("cmdline", "environ"))
        except OSError:  # gone, or somebody else's
            return
        self.seen[pid] = line
        if self._secret in line:
            self._lines.add(f"the command line of {line!r}")
        if self._secret in environ:
            self._environs.add((pid, line))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab with two agent backends."""
    use_fakes(monkeypatch)
    backend = {"type": "agent", "heartbeat_timeout_s": 600}
    return agent_lab(tmp_path / "lab", model_training={"backends": {BACKEND: backend, OTHER: backend}})


@pytest.fixture
def started(lab: Lab, tmp_path: Path) -> Iterator[httpx.Client]:
    """The lab's server as `potato start` has it; what it says is in `server.log`."""
    port = free_port()
    command = [sys.executable, "-m", "potato", "start", str(lab.project.file), "--port", str(port)]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=KEY, timeout=30) as http:

        def answers() -> bool:
            assert process.poll() is None, (tmp_path / "server.log").read_text()
            try:
                return http.get(f"{API}/status").status_code == 200
            except httpx.TransportError:
                return False

        wait_for(answers, 60)
        yield http
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=30)


def issue(lab: Lab) -> str:
    """A token, as `potato training register` prints it."""
    command = [sys.executable, "-m", "potato", "training", "register", BACKEND, str(lab.project.file)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return said.split("\n")[2].strip()


def submitted(http: httpx.Client, **params: Any) -> str:
    """A run's id."""
    body = {"trainer": "fake", "schemas": ["sentiment"], "backend": BACKEND, "params": params}
    run_id: str = http.post(f"{API}/runs", json=body).raise_for_status().json()["run_id"]
    return run_id


def state(http: httpx.Client, run_id: str) -> str:
    """The run's state."""
    found: str = http.get(f"{API}/runs/{run_id}").json()["state"]
    return found


def everything_said(http: httpx.Client, runs: list[str], token: str) -> Iterator[tuple[str, str]]:
    """What the server answers of those runs, to admins and to an agent that is wrong in every way."""
    pages = [
        "/admin/training",
        "/admin",
        "/openapi.json",
        *(f"{API}/{name}" for name in ("runs", "backends", "status")),
    ]
    for run_id in runs:
        pages += [f"/admin/training/runs/{run_id}"]
        pages += [f"{API}/runs/{run_id}{rest}" for rest in ("", "/log", "/events", "/curves", "/log?file=stderr")]
    for page in pages:
        yield page, http.get(page).text
    yield "check", http.post(f"{API}/backends/{BACKEND}/check", json={}).text
    bearer = {"Authorization": f"Bearer {token}"}
    for method, path in (
        ("POST", "/claim"),
        ("GET", "/runs/none/bundle?attempt=1"),
        ("PUT", f"/runs/{runs[0]}/files/x?attempt=x"),
        ("POST", f"/runs/{runs[0]}/result"),
        ("GET", "/nothing"),
        ("DELETE", "/claim"),
    ):
        yield path, http.request(method, PREFIX + path, headers=bearer, content=b"{").text


def test_a_token_is_nowhere_but_in_its_agent(lab: Lab, started: httpx.Client, tmp_path: Path) -> None:
    """Through a run that succeeds, one that fails, one that is cancelled, and the token's end."""
    token = issue(lab)
    with Watch(token) as watch:
        running = RunningAgent(str(started.base_url), token, tmp_path / "work")
        watch.owner = running.process.pid
        runs = [submitted(started, seconds=0.5), submitted(started, does="fail"), submitted(started, seconds=300)]
        for run_id, end in zip(runs[:2], ("success", "error"), strict=True):
            wait_for(lambda run_id=run_id, end=end: state(started, run_id) == end, 60)
        wait_for(lambda: find_marked(runs[2]), 60)
        wait_for(lambda: watch.has_seen("potato.training.worker") and watch.has_seen("agent.keeper"))
        started.post(f"{API}/runs/{runs[2]}/cancel")
        wait_for(lambda: state(started, runs[2]) == "cancelled", 60)
        said = dict(everything_said(started, runs, token))
        issue(lab)
        assert running.process.wait(timeout=60) == 3
    assert watch.found == set()
    for where, text in said.items():
        assert token not in text, where
    looked_at = [path for path in tmp_path.rglob("*") if path.is_file()]
    for path in looked_at:
        assert token.encode() not in path.read_bytes(), path
    names = {path.name for path in looked_at}
    assert names >= {"server.log", "work.log", "keeper.log", "run.log", "events.jsonl", "spec.json", "agent.json"}


def test_the_store_has_the_hash_alone(lab: Lab) -> None:
    token = issue(lab)
    rows = lab.rows(tables.agent_tokens.select())
    assert len(rows) == 1 and hashlib.sha256(token.encode()).hexdigest() in rows[0]
    assert all(token.encode() not in path.read_bytes() for path in lab.folder.rglob("*") if path.is_file())


def asked(server: Served, token: str, method: str, path: str, **body: Any) -> httpx.Response:
    """One request of an agent."""
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.request(method, server.url + path, headers=headers, timeout=30, **body)


def test_a_token_touches_no_other_backends_run(lab: Lab) -> None:
    """Every route of the agents' API, as the server's own document lists them."""
    server = Served(lab)
    try:
        ours, theirs = register(lab.project, BACKEND), register(lab.project, OTHER)
        run_id = server.submit()
        who = {"host": "there", "workdir": "/work", "session": "0123456789"}
        claim = {"protocol": 1, "backend": BACKEND, "agent": who, "wait_s": 20}
        job = asked(server, ours, "POST", f"{PREFIX}/claim", json=claim).json()["job"]
        assert job["run_id"] == run_id
        held = {"attempt": 1, "exit_code": 0, "files": {}}
        asked(server, ours, "PUT", f"{PREFIX}/runs/{run_id}/files/events.jsonl?attempt=1&offset=0", content=b"{}\n")
        wait_for(lambda: lab.run(run_id).applied == 3)  # nothing is under way any more
        before = snapshot(lab.folder, seen=False)
        document = server.http.get("/openapi.json").json()["paths"]
        routes = [(method, path) for path, ways in document.items() if path.startswith(PREFIX) for method in ways]
        assert len(routes) >= 5
        for method, path in routes:
            where = path.replace("{run_id}", run_id).replace("{name}", "events.jsonl") + "?attempt=1&offset=3"
            body: Any = (
                {"content": b"x\n"} if method == "put" else {"json": {**claim, **held}} if method == "post" else {}
            )
            answer = asked(server, theirs, method.upper(), where, **body)
            expected = (401, "token_not_taken") if path.endswith("/claim") else (404, "not_your_run")
            assert (answer.status_code, answer.json()["code"]) == expected, (method, path, answer.text)
        assert snapshot(lab.folder, seen=False) == before
        for path in (f"{API}/runs", f"{API}/runs/{run_id}", "/openapi.json", "/admin/training"):
            assert asked(server, theirs, "GET", path).status_code == 401, path
        assert asked(server, ours, "POST", f"{PREFIX}/runs/{run_id}/report", json={"attempt": 1}).status_code == 200
    finally:
        server.close()


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (403, {"error": f"no right for Bearer {TOKEN}", "code": "no_right"}, {}),
        (500, {"error": f"cannot read Bearer {TOKEN}", "code": "broken"}, {}),
        (302, {}, {"Location": f"http://127.0.0.1/login?from={TOKEN}"}),
        (200, {"protocol": TOKEN}, {}),
        (200, {"protocol": 1, "job": {"run_id": f"/{TOKEN}"}}, {}),
    ],
)
def test_a_server_that_echoes_the_token_does_not_bring_it_to_the_terminal(
    tmp_path: Path, status: int, body: dict[str, Any], headers: dict[str, str]
) -> None:
    """A proxy that reads along, or a page that shows what was asked."""
    with serving() as standin:
        standin.claim_answer = lambda: (status, json.dumps(body).encode(), dict(headers))
        running = RunningAgent(standin.url, TOKEN, tmp_path / "work", backend="lab")
        if status == 500:
            wait_for(lambda: "cannot be reached" in running.said())
            running.stop()
        assert running.process.wait(timeout=60) in (0, 1, 2, 5)
    assert running.said().count("\n") >= 2
    assert TOKEN not in running.said()
