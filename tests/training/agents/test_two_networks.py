"""A real agent on a network of its own, from which one way leads to the server, and real reviews."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_scene import Served, agent, agent_lab, served, token_for
from conftest import minilm_folder
from lab import wait_for
from outward import WayOut, own_networks, way_out
from potato.training.worker.launch import find_marked
from raters import majority

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
"""As `num_threads: 1` has it on `local`: with another number of threads, sums are rounded otherwise."""


@pytest.fixture
def way(server: Served) -> Iterator[WayOut]:
    """The way to the server."""
    with way_out(server.port) as way:
        yield way


@pytest.fixture
def labelled(reviews: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a server of the first reviews, labelled with the signs that most of five raters gave them."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    def make(most: int | None = None) -> Any:
        rows = [json.loads(line) for line in (reviews / "reviews.jsonl").read_text("utf-8").splitlines()][:most]
        lab = agent_lab(tmp_path / "lab", items=rows, labels=majority(reviews), model_training={"num_threads": 1})
        return served(lab)

    return make


def _both_ways(server: Served, tmp_path: Path, trainer: str, **params: Any) -> list[dict[str, Any]]:
    """The same run on `local` and on the agent behind the way, finished."""
    token = token_for(server.lab)
    here = server.finished(server.submit(trainer, "local", **params), 200)
    with way_out(server.port) as way:
        behind = way.behind()
        with agent(way.url, token, tmp_path / "work", "--once", behind=behind, **ONE_THREAD) as running:
            there = server.finished(server.submit(trainer, **params), 200)
            assert running.process.wait(timeout=30) == 0
        assert way.connections
    for run in (here, there):
        assert run["state"] == "success", (run["error"], server.log(run["run_id"]))
    return [here, there]


def _predictions(server: Served, run: dict[str, Any]) -> bytes:
    return (server.lab.project.runs_dir / run["run_id"] / "predictions.jsonl").read_bytes()


@pytest.mark.computes
def test_sklearn_text_scores_there_as_here(labelled: Any, tmp_path: Path) -> None:
    with labelled() as server:
        here, there = _both_ways(server, tmp_path, "sklearn-text")
        assert there["scores"] == here["scores"] and there["writeback"] == here["writeback"]
        assert _predictions(server, there) == _predictions(server, here)
    test = there["scores"]["sentiment"]["test"]
    assert test["n"] > 300 and test["accuracy"] > 0.7
    print(f"sklearn-text: accuracy {test['accuracy']:.4f} on {test['n']} held-out reviews, here and there")


@pytest.mark.computes
def test_a_small_network_scores_there_as_here(labelled: Any, tmp_path: Path) -> None:
    with labelled(160) as server:
        params = {"base_model": minilm_folder(), "epochs": 1, "max_length": 32}
        here, there = _both_ways(server, tmp_path, "hf-text-classification", **params)
        assert there["scores"] == here["scores"] and there["writeback"] == here["writeback"]
        assert _predictions(server, there) == _predictions(server, here)
    test = there["scores"]["sentiment"]["test"]
    print(f"hf-text-classification: accuracy {test['accuracy']:.4f} on {test['n']} held-out reviews, here and there")


def test_a_cancel_finds_its_way_against_the_stream(server: Served, token: str, way: WayOut, tmp_path: Path) -> None:
    with agent(way.url, token, tmp_path / "work", behind=way.behind()):
        run_id = server.submit(seconds=300)
        wait_for(lambda: find_marked(run_id) and server.run(run_id)["state"] == "running")
        server.http.post(f"/admin/training/api/runs/{run_id}/cancel")
        assert server.finished(run_id, 60)["state"] == "cancelled"
        wait_for(lambda: not find_marked(run_id), 60)


def test_nothing_gets_in(server: Served, way: WayOut) -> None:
    """Even where a program there listens; one beside it reaches it."""
    if not own_networks():
        pytest.skip("this system gives no network of its own")
    program = """
import socket, sys
listener = socket.create_server(("0.0.0.0", 0))
port = listener.getsockname()[1]
socket.create_connection(("10.99.0.1", port)).close()
print(port, flush=True)
sys.stdin.read()
"""
    command = [*way.behind(), sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as there:
        assert there.stdin is not None and there.stdout is not None
        port = int(there.stdout.readline())
        for host in ("10.99.0.1", "127.0.0.1"):
            with pytest.raises(OSError):
                socket.create_connection((host, port), timeout=1)
        there.stdin.close()
    assert there.returncode == 0
