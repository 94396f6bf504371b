"""Runs on an `agent` backend: a real server, a real agent, and what each death of either brings."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agent_scene import BACKEND, RunningAgent, Served, agent, agent_lab, served, token_for
from jobs import SOURCE
from lab import use_fakes, wait_for
from potato.training.worker.launch import find_marked


def test_a_run_goes_to_the_agent_and_comes_back_as_on_local(server: Served, token: str, tmp_path: Path) -> None:
    here = server.finished(server.submit(backend="local"))
    with agent(server.url, token, tmp_path / "work", "--once") as running:
        run_id = server.submit()
        run = server.finished(run_id)
        assert running.process.wait(timeout=30) == 0
    assert run["state"] == "success", server.log(run_id)
    assert run["scores"] == here["scores"] and run["writeback"] == here["writeback"]
    assert run["attempt"] == 1 and run["backend_type"] == "agent" and run["host"]
    host, _, folder = run["artifact_uri"].partition(":")
    assert host == run["host"] and Path(folder).is_absolute() and list(Path(folder).rglob("model.txt"))
    folders = [server.lab.project.runs_dir / ident for ident in (here["run_id"], run_id)]
    assert len({(path / "predictions.jsonl").read_bytes() for path in folders}) == 1
    assert not (tmp_path / "work" / "jobs" / run_id / "bundle").exists()
    assert find_marked(run_id) == []


def test_a_run_without_an_agent_holds_nothing_up_and_can_be_cancelled(server: Served, token: str) -> None:
    waiting = server.submit()
    behind = server.finished(server.submit(backend="local"))
    assert behind["state"] == "success"
    run = server.run(waiting)
    assert run["state"] == "queued" and run["step"] == f"waiting for the agent on {BACKEND}"
    server.http.post(f"/admin/training/api/runs/{waiting}/cancel")
    assert server.run(waiting)["state"] == "cancelled"


def test_nobody_asking_ends_the_run_after_queue_timeout(tmp_path: Path, monkeypatch) -> None:
    use_fakes(monkeypatch)
    with served(agent_lab(tmp_path / "lab", queue_timeout_s=2)) as server:
        run = server.finished(server.submit())
        assert run["state"] == "error"
        assert run["error"]["message"] == f"No agent asked for work on {BACKEND} for 2 seconds"


def test_cancel_reaches_the_worker(server: Served, token: str, tmp_path: Path) -> None:
    with agent(server.url, token, tmp_path / "work"):
        run_id = server.submit(seconds=300)
        wait_for(lambda: find_marked(run_id) and server.run(run_id)["state"] == "running")
        server.http.post(f"/admin/training/api/runs/{run_id}/cancel")
        assert server.finished(run_id, 60)["state"] == "cancelled"
        wait_for(lambda: not find_marked(run_id), 60)
        assert server.finished(server.submit())["state"] == "success", "the agent takes the next job"


def test_ctrl_c_cancels_the_run_and_leaves_nothing(server: Served, token: str, tmp_path: Path) -> None:
    with agent(server.url, token, tmp_path / "work") as running:
        run_id = server.submit(seconds=300)
        wait_for(lambda: find_marked(run_id))
        assert running.stop() == 0
        run = server.finished(run_id, 60)
    assert run["state"] == "cancelled"
    assert run["error"]["message"] == f"the agent on {BACKEND} was stopped"
    assert find_marked(run_id) == []


def test_a_killed_agent_that_is_started_again_goes_on(server: Served, token: str, tmp_path: Path) -> None:
    first = RunningAgent(server.url, token, tmp_path / "work")
    run_id = server.submit(seconds=3)
    wait_for(lambda: find_marked(run_id))
    first.kill()
    with agent(server.url, token, tmp_path / "work"):
        run = server.finished(run_id)
    assert run["state"] == "success" and run["attempt"] == 1, server.log(run_id)


def test_a_killed_agent_that_stays_away_fails_the_run(server: Served, token: str, tmp_path: Path) -> None:
    running = RunningAgent(server.url, token, tmp_path / "work")
    run_id = server.submit(seconds=300)
    wait_for(lambda: find_marked(run_id))
    running.kill()
    run = server.finished(run_id, 60)
    assert run["state"] == "error"
    assert run["error"]["message"] == f"No word from the agent on {BACKEND} for 5 seconds"
    with agent(server.url, token, tmp_path / "work"):  # it learns that the run is over, and ends what is left
        wait_for(lambda: not find_marked(run_id), 60)
        assert server.finished(server.submit())["state"] == "success"


def test_a_server_that_is_killed_and_comes_back_finds_the_run_again(tmp_path: Path, monkeypatch) -> None:
    use_fakes(monkeypatch)
    lab = agent_lab(tmp_path / "lab")
    token = token_for(lab)
    first = Served(lab)
    with agent(first.url, token, tmp_path / "work") as running:
        run_id = first.submit(seconds=3)
        wait_for(lambda: find_marked(run_id))
        first.kill()
        wait_for(lambda: "cannot be reached" in running.said())
        with served(lab, first.port) as second:
            run = second.finished(run_id)
            assert run["state"] == "success" and run["attempt"] == 1, second.log(run_id)


def test_a_finish_while_the_server_was_down_is_collected(tmp_path: Path, monkeypatch) -> None:
    use_fakes(monkeypatch)
    lab = agent_lab(tmp_path / "lab")
    token = token_for(lab)
    first = Served(lab)
    with agent(first.url, token, tmp_path / "work"):
        run_id = first.submit(seconds=1)
        wait_for(lambda: find_marked(run_id))
        first.kill()
        wait_for(lambda: not find_marked(run_id))
        with served(lab, first.port) as second:
            assert second.finished(run_id)["state"] == "success", second.log(run_id)


def test_a_killed_worker_is_told_in_seconds(server: Served, token: str, tmp_path: Path) -> None:
    """remote 43"""
    with agent(server.url, token, tmp_path / "work"):
        run_id = server.submit(does="killed")
        run = server.finished(run_id, 60)
    assert run["state"] == "error", run
    assert "signal 9" in run["error"]["message"]


def test_too_large_predictions_end_the_run(tmp_path: Path, monkeypatch) -> None:
    use_fakes(monkeypatch)
    with served(agent_lab(tmp_path / "lab", model_training={"max_predictions_mb": 1})) as server:
        token = token_for(server.lab)
        with agent(server.url, token, tmp_path / "work"):
            run_id = server.submit(says="long", answer="positive" * 40000)
            run = server.finished(run_id)
    assert run["state"] == "error"
    assert "(max_predictions_mb)" in run["error"]["message"]


def test_a_new_token_ends_the_old_one_at_once(server: Served, token: str, tmp_path: Path) -> None:
    running = RunningAgent(server.url, token, tmp_path / "work")
    wait_for(lambda: "last seen" in server.http.get("/admin/training/api/backends").text)
    token_for(server.lab)
    assert running.process.wait(timeout=60) == 3
    assert f"potato training register {BACKEND}" in running.said()


def test_a_second_agent_elsewhere_is_refused(server: Served, token: str, tmp_path: Path) -> None:
    """remote 42"""
    with agent(server.url, token, tmp_path / "one"):
        wait_for(lambda: "last seen" in server.http.get("/admin/training/api/backends").text)
        with agent(server.url, token, tmp_path / "two") as second:
            assert second.process.wait(timeout=30) == 4
        assert str(tmp_path / "one") in second.said()


def test_an_old_python_without_a_locale_and_names_of_every_alphabet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python38: str
) -> None:
    """Server and agent under LC_ALL=C, the agent a Python 3.8, and nothing in ASCII: ids, texts, folders."""
    use_fakes(monkeypatch)
    for name, value in (("LC_ALL", "C"), ("LANG", "C")):
        monkeypatch.setenv(name, value)
    ids = [f"größe/{number} 好 🙂" for number in range(60)]
    rows = [{"id": ident, "text": f"Text ü {ident}"} for ident in ids]
    with served(agent_lab(tmp_path / "läb 好", items=rows)) as server:
        work, path = tmp_path / "wörk ж", os.pathsep.join([str(SOURCE), os.environ["PYTHONPATH"]])
        with agent(server.url, token_for(server.lab), work, "--once", python=python38, PYTHONPATH=path) as running:
            run_id = server.submit()
            run = server.finished(run_id)
            assert run["state"] == "success", (server.log(run_id), running.said())
    assert run["artifact_uri"].endswith(f"/wörk ж/jobs/{run_id}/attempt-1/artifacts")
    lines = (server.lab.project.runs_dir / run_id / "predictions.jsonl").read_text("utf-8").splitlines()
    assert lines and {json.loads(line)["instance_id"] for line in lines} <= set(ids)
    assert "Traceback" not in running.said()
