"""What a host may reach through the connection: the agent's routes of its own run, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import hostile_host
from lab import use_fakes
from machines import PYTHON, lay
from potato.app import create_app
from potato.store.training.runs import State
from ssh_scene import Scene, scene, settings, ssh_lab
from sshd import ALIAS, Host

PROGRAM = "python-of-its-own"
OTHER_RUN = "20261129T141500-0000ff"
AGENT = "/training/agent/v1"
CLAIM = {
    "protocol": 1,
    "version": "1",
    "backend": ALIAS,
    "agent": {"host": "gpu", "workdir": "/home/ada", "session": "s" * 32},
}


DISGUISED = (
    f"{AGENT}/../../../admin/training/api/runs",
    f"{AGENT}/runs/RUN-ID/../../../../admin",
    f"{AGENT}/runs/RUN-ID%2F..%2F{OTHER_RUN}/bundle?attempt=1",
    f"{AGENT}/runs/RUN-ID/files/..%2Frun.log?attempt=1&offset=0",
    f"{AGENT}/runs/RUN-ID/files/config.yaml?attempt=1&offset=0",
    "//admin",
    "http://127.0.0.1/admin",
    "/admin\r\nX-API-Key: lab-key",
    "",
)
"""Ways to say another path that some servers fall for."""
PAGES = (
    "/",
    "/admin",
    "/admin/training",
    "/admin/training/runs/{run_id}",
    "/openapi.json",
    "/login",
    "/static/js/main.js",
)


@pytest.fixture(params=[False, True], ids=["usual", "debug"])
def lab(request: pytest.FixtureRequest, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """A lab whose host is hostile, with `debug: true` and without."""
    use_fakes(monkeypatch)
    source = Path(hostile_host.__file__).read_text("utf-8")
    lay(host.home / PROGRAM, f"#!{PYTHON} -SE\n{source}")
    made = ssh_lab(tmp_path / "lab", {ALIAS: settings(host, python=f"~/{PROGRAM}")})
    made.write({**made.config, "debug": request.param})
    with scene(made) as there:
        yield there


def routes(lab: Scene) -> list[tuple[str, str]]:
    """Every route of the OpenAPI document, and pages: method and path."""
    with TestClient(create_app(lab.lab.project)) as client:
        document = client.get("/openapi.json", headers={"X-API-Key": "lab-key"}).json()
    found = [(method.upper(), path) for path, ways in document["paths"].items() for method in ways]
    assert len(found) > 20
    return [*found, *((method, path) for path in PAGES for method in ("GET", "POST"))]


def requests(lab: Scene) -> list[dict[str, Any]]:
    """Each route as it stands, with an administrator's key, for this run, for another, and in disguise."""
    made = [{"method": "POST", "path": f"{AGENT}/claim", "body": json.dumps(CLAIM)}]
    for method, path in routes(lab):
        for run in ("RUN-ID", OTHER_RUN):
            filled = re.sub(r"\{[^}]*\}", "events.jsonl", re.sub(r"\{run_id[^}]*\}", run, path))
            made.append({"method": method, "path": filled, "headers": {"X-API-Key": "lab-key"}, "body": "{}"})
    return made + [{"method": method, "path": path} for path in DISGUISED for method in ("GET", "PUT", "POST")]


def answers(host: Host) -> Any:
    """What the host was answered to all that it tried; None as long as it is at it."""
    file = host.home / "answers.json"
    return json.loads(file.read_text("utf-8")) if file.exists() and file.stat().st_size else None


def test_only_the_agent_s_routes_of_its_own_run_answer(lab: Scene, host: Host) -> None:
    lay(host.home / "requests.json", json.dumps(requests(lab)))
    run = lab.run()
    mine = re.compile(rf"{AGENT}/(claim|runs/{run.run_id}/(bundle|report|result|files/events\.jsonl))(\?.*)?")
    told = answers(host)
    assert len(told) > 80
    for method, path, status, body in told:
        if mine.fullmatch(path) and status not in (404, 405):
            assert status in (200, 206, 400, 409), (method, path, status, body)
        else:
            assert status in (403, 404, 405), (method, path, status, body)
            assert "annotation_task_name" not in body and "<html" not in body
    assert ["POST", f"{AGENT}/claim", 200] in [answer[:3] for answer in told]
    assert len({path for _, path, status, _ in told if status not in (403, 404, 405)}) == 5
    assert run.state is State.ERROR
    assert lab.supervisor.status().queued == []


EVIL = "<script>alert(1)</script>\x1b[31m\nthe run was cancelled $(touch ~/pwned) `touch ~/pwned` '; touch ~/pwned; '"
TURNED = EVIL + "\u202e"  # what follows would read from right to left
FILES = [
    {"path": path, "bytes": 3, "mtime": 0}
    for path in ("../../../../config.yaml", "/etc/potato", "a\0b", "..", "x/../../y", "c\nd", "\ud800", "e" * 300)
]
WORDS: dict[str, Any] = {
    "hello": {"host": TURNED, "python": EVIL, "executable": EVIL, "home": EVIL, "user": EVIL, "clock": EVIL},
    "gpus": {"text": EVIL, "reason": EVIL, "gpus": EVIL, "env": {"CUDA_VISIBLE_DEVICES": EVIL, EVIL: EVIL}},
    "probe": {"trainers": EVIL, "device": EVIL},
    "work": {"code": EVIL, "said": [EVIL, 7], "attempt": EVIL},
    "list_artifacts": {"attempt": 1, "folder": EVIL, "files": FILES},
    "tail": {"text": EVIL},
}


def test_what_a_host_says_is_text_and_stays_one_line(lab: Scene, host: Host) -> None:
    """It cannot write a line of the log, markup into a page, a file here, or a command there."""
    lay(host.home / "words.json", json.dumps(WORDS))
    ended = json.dumps({"attempt": 1, "exit_code": 0, "reason": EVIL, "artifact_uri": EVIL, "warnings": [EVIL]})
    tries = [("claim", json.dumps(CLAIM)), ("runs/RUN-ID/result", ended)]
    requests = [{"method": "POST", "path": f"{AGENT}/{path}", "body": body} for path, body in tries]
    lay(host.home / "requests.json", json.dumps(requests))
    lab.lab.project.output_dir.mkdir(exist_ok=True)  # a store in PostgreSQL has not made it yet
    before = sorted(lab.lab.folder.iterdir())
    run = lab.run()
    lab.supervisor.check(ALIAS, "fake")
    assert sorted(lab.lab.folder.iterdir()) == before
    assert [answer[2] for answer in answers(host)] == [200, 200]
    assert not lab.folder(run.run_id).artifacts.exists()
    log = lab.log(run.run_id)
    assert "\x1b" not in log and "\u202e" not in log
    assert not any(
        line.endswith("the run was cancelled") or line.startswith("the run was") for line in log.splitlines()
    )
    assert not (host.home / "pwned").exists() and not Path("pwned").exists()
    with TestClient(create_app(lab.lab.project)) as client:
        for path in (f"/admin/training/runs/{run.run_id}", "/admin/training"):
            page = client.get(path, headers={"X-API-Key": "lab-key"})
            assert page.status_code == 200 and "<script>alert" not in page.text
