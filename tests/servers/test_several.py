"""Several `potato start` processes of one project on one PostgreSQL: what each does, and what becomes of it when one of
them, or the database, goes."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

import postgres as servers
from agent_scene import BACKEND, agent
from lab import use_fakes, wait_for
from several import API, KEY, Member, members, write_project

if TYPE_CHECKING:
    from postgres import Postgres


@pytest.fixture(autouse=True)
def _fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    use_fakes(monkeypatch)


@contextmanager
def annotator(member: Member, name: str) -> Iterator[httpx.Client]:
    """A browser in which somebody has signed in."""
    with httpx.Client(base_url=member.url, timeout=60) as client:
        assert client.post("/sign-in", data={"name": name}).status_code == 200
        yield client


def label(client: httpx.Client, name: str, first: int, count: int) -> list[int]:
    """Answer the next `count` items, whose requests are numbered from `first`; the items' numbers."""
    done = []
    for number in range(first, first + count):
        seq = int(client.get("/annotate").headers["location"].rsplit("/", 1)[1])
        body = {
            "request_id": f"request-{name}-{number}",
            "annotator": name,
            "answers": {"sentiment": ("positive", "negative")[number % 2]},
        }
        answer = client.post(f"/annotate/{seq}/answers", json=body, headers={"Sec-Fetch-Site": "same-origin"})
        assert answer.status_code == 200, answer.text
        done.append(seq)
    return done


@contextmanager
def labelled(folder: Path, url: str, **training: Any) -> Iterator[tuple[Member, Member]]:
    """The one that supervises, and another; two annotators have answered all items, each at one of them."""
    with members(write_project(folder, url, **training)) as (first, second):
        with annotator(first, "ann") as ann, annotator(second, "bob") as bob:
            done = [label(who, name, at, 10) for at in (0, 10, 20) for who, name in ((ann, "ann"), (bob, "bob"))]
        assert len({seq for each in done for seq in each}) == 60  # nobody gets an item of another's
        yield first, second


def log(member: Member, run_id: str) -> str:
    return member.http.get(f"{API}/runs/{run_id}/log").text


def files(folder: Path, run_id: str) -> dict[Path, bytes]:
    """All that lies in the run's folder, byte for byte: but for what is being written, and the curves, which the server
    draws from the rest when it comes to it."""
    (runs,) = folder.glob("*/training/runs")
    found = [path for path in (runs / run_id).rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in found if path.suffix != ".part" and path.name != "curves.json"}


def test_they_share_one_project_and_one_supervisor(tmp_path: Path, postgres_url: str) -> None:
    training = {"backends": {BACKEND: {"type": "agent", "heartbeat_timeout_s": 20}}}
    file = write_project(tmp_path, postgres_url, **training)
    with labelled(tmp_path, postgres_url, **training) as (first, second):
        said = first.said.read_text("utf-8") + second.said.read_text("utf-8")
        assert sorted(re.findall(r"Items: (\d+) new", said)) == ["0", "60"]
        elected = {"epoch": 1, "address": f"127.0.0.1:{first.port}"}
        for member, role in ((first, "supervisor"), (second, "member")):
            health = member.health()
            assert health["role"] == role
            assert health["elected"].items() >= elected.items()
        assert "This server supervises the runs (election 1)" in first.said.read_text("utf-8")
        assert f"The server at 127.0.0.1:{first.port} supervises the runs" in wait_for(
            lambda: second.said.read_text("utf-8")
        )
        with annotator(first, "cat") as cat:
            there = httpx.get(f"{second.url}/annotate", cookies=cat.cookies, headers={"Accept": "text/html"})
            assert there.status_code in (200, 303), there.text
            assert httpx.get(f"{second.url}/annotate").status_code == 401

        run_id = second.submit()
        with second.http.stream("GET", f"{API}/runs/{run_id}/stream") as stream:
            assert stream.headers["content-type"].startswith("text/event-stream")
            events = [line for line in stream.iter_lines() if line.startswith("event:")]
        assert events[-1] == "event: end"
        assert second.run(run_id)["state"] == first.run(run_id)["state"] == "success"
        page = second.http.get(f"/admin/training/runs/{run_id}", headers={"Accept": "text/html"})
        assert page.status_code == 200
        assert page.text == first.http.get(f"/admin/training/runs/{run_id}", headers={"Accept": "text/html"}).text
        refused = second.http.get(f"{API}/runs/none-such")
        assert (refused.status_code, refused.json()["code"]) == (404, "unknown_run")
        assert httpx.get(f"{second.url}{API}/runs").status_code == 401

        from potato.project.loading import load_or_raise
        from potato.training.agents.tokens import register

        token = register(load_or_raise(file), BACKEND)
        with agent(second.url, token, tmp_path / "agent", program="quick_agent"):
            carried = second.submit(BACKEND, answer="negative")
            assert second.in_state(carried, "success")["host"]
        big = second.http.post(f"{API}/runs", content=b"x" * 1_000_001)
        assert big.status_code == 413
        metrics = second.http.get("/metrics").text
        assert 'potato_requests_passed_on_total{status="202"} 2.0' in metrics
        assert 'route="/admin/training' not in metrics  # it is counted where it was answered
        submitted = f'potato_requests_total{{method="POST",route="{API}/runs",status="202"}} 2.0'
        assert submitted in first.http.get("/metrics").text
        assert 'potato_runs{state="success"} 2.0' in metrics
        assert "potato_supervises 0.0" in metrics
        assert "potato_supervises 1.0" in first.http.get("/metrics").text


def test_a_request_that_is_passed_on_gains_no_right(tmp_path: Path, postgres_url: str) -> None:
    file = write_project(tmp_path, postgres_url)
    config = {**json.loads(file.read_text("utf-8")), "debug": True}
    file.write_text(json.dumps(config), "utf-8")
    with members(file, 2, "--address", "localhost:{port}") as (first, second):
        assert second.health()["elected"]["address"] == f"localhost:{first.port}"
        here = httpx.get(f"{first.url}{API}/runs")
        assert here.status_code == 200  # a request of this machine's own
        assert httpx.get(f"{second.url}{API}/runs", headers={"X-Forwarded-For": "10.0.0.9"}).status_code == 401
        assert httpx.get(f"{second.url}{API}/runs").status_code == 401
        assert second.http.get(f"{API}/runs").status_code == 200
        once = second.http.get(f"{API}/runs", headers={"X-Potato-Forwarded": "1"})
        assert (once.status_code, once.json()["code"]) == (503, "no_supervisor")
        elsewhere = second.http.post(
            f"{API}/runs", json={}, headers={"X-API-Key": "wrong", "Origin": "http://elsewhere.example"}
        )
        assert elsewhere.status_code == 401


def test_another_takes_over_when_the_supervisor_is_killed(tmp_path: Path, postgres_url: str) -> None:
    go_on = tmp_path / "go on"
    with labelled(tmp_path, postgres_url) as (first, second):
        run_id = second.submit(until=str(go_on))
        second.in_state(run_id, "running")
        wait_for(lambda: "training" in second.run(run_id)["step"] or second.run(run_id)["device"])
        first.kill()
        wait_for(lambda: second.supervises)
        assert second.health()["elected"]["epoch"] == 2
        assert second.run(run_id)["state"] == "running"
        go_on.touch()
        assert second.in_state(run_id, "success")["attempt"] == 1
        assert log(second, run_id).count("the run has finished") == 1


def test_both_go_on_when_the_database_was_started_again(tmp_path: Path) -> None:
    go_on = tmp_path / "go on"
    with servers.start() as server, labelled(tmp_path, server.schema("lab")) as (first, second):
        run_id = second.submit(until=str(go_on))
        second.in_state(run_id, "running")
        server.stop()
        for member in (first, second):
            answer = member.http.get("/annotate", headers={"Accept": "application/json"})
            assert answer.status_code in (401, 503)
        server.start()

        def agree() -> bool:
            told = [member.health() for member in (first, second)]
            epochs = [(each.get("elected") or {}).get("epoch") for each in told]
            return epochs == [2, 2] and sorted(each["role"] for each in told) == ["member", "supervisor"]

        wait_for(agree)
        go_on.touch()
        for member in (first, second):
            assert member.in_state(run_id, "success")["attempt"] == 1
        with annotator(second, "cat") as cat:
            assert cat.get("/annotate").status_code == 200  # all items are answered still
        manifest = first.http.get("/admin/export?format=jsonl").text.splitlines()
        assert len(manifest) == 60


def test_a_stalled_supervisor_changes_nothing_any_more(tmp_path: Path, postgres: Postgres, postgres_url: str) -> None:
    go_on = tmp_path / "go on"
    with labelled(tmp_path, postgres_url) as (first, second):
        run_id = second.submit(until=str(go_on))
        second.in_state(run_id, "running")
        first.process.send_signal(signal.SIGSTOP)
        postgres.admin(
            "SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
            " WHERE l.locktype = 'advisory' AND l.granted AND a.state = 'idle'"
        )
        wait_for(lambda: second.supervises)
        go_on.touch()
        ended = second.in_state(run_id, "success")
        before = files(tmp_path, run_id)
        first.process.send_signal(signal.SIGCONT)
        late = first.http.post(f"{API}/runs/{run_id}/cancel", headers=KEY)
        assert late.status_code in (409, 503), late.text  # over, as the other says; or not to be asked just now
        wait_for(lambda: "supervises the runs no longer" in first.said.read_text("utf-8"))
        wait_for(lambda: first.health().get("role") == "member")
        assert second.run(run_id) == first.run(run_id) == ended
        assert files(tmp_path, run_id) == before
        assert "Traceback" not in first.said.read_text("utf-8")


@pytest.mark.sqlite("several servers may share a project in PostgreSQL")
def test_with_sqlite_a_second_server_is_refused(tmp_path: Path) -> None:
    file = write_project(tmp_path, "")
    config = json.loads(file.read_text("utf-8"))
    del config["database_url"]
    file.write_text(json.dumps(config), "utf-8")
    first = Member(file)
    try:
        assert wait_for(first.health) == {"status": "ok"}
        second = Member(file)
        assert second.process.wait(60) != 0
        assert "another server" in second.said.read_text("utf-8")
        second.http.close()
    finally:
        first.close()
