"""Disks that are full, on either side, and have room again later."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_scene import agent, agent_lab, served, token_for
from lab import Lab, use_fakes, wait_for
from potato.training.agents.errors import NotStoredHere
from potato.training.agents.intake import Intake, begin_attempt
from potato.training.worker.launch import find_marked
from small_disk import SmallDisk, small_disk

MANY = [{"id": f"i{number}", "text": f"{random.Random(number).randbytes(40_000).hex()}"} for number in range(60)]
"""Texts whose bundle is larger than 2 MB, packed or not."""


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallDisk]:
    """The agent's work folder, on a disk of 2 MB."""
    use_fakes(monkeypatch)
    with small_disk(tmp_path / "work") as disk:
        yield disk


def _error(run: dict[str, Any]) -> str:
    assert run["state"] == "error", run
    message: str = run["error"]["message"]
    return message


def test_a_bundle_that_the_agents_disk_does_not_take(disk: SmallDisk, tmp_path: Path) -> None:
    """remote 46: it is said, nothing of it stays, and the agent goes on."""
    lab = agent_lab(tmp_path / "lab", items=MANY)
    with served(lab) as server, agent(server.url, token_for(lab), disk.folder) as running:
        first = server.submit()
        message = _error(server.finished(first))
        assert "No space left" in message or "more room than the disk has free" in message
        wait_for(lambda: not _large(disk.folder))
        disk.grow(64)
        assert server.finished(server.submit())["state"] == "success", running.said()


def test_a_model_that_the_agents_disk_does_not_take(disk: SmallDisk, tmp_path: Path) -> None:
    """remote 46: not even events find room then; the run ends all the same, and nothing is left running."""
    lab = agent_lab(tmp_path / "lab")
    with served(lab) as server, agent(server.url, token_for(lab), disk.folder) as running:
        first = server.submit(weights=1, weights_mb=4)
        message = _error(server.finished(first))
        assert "disk is full" in message or "No space left" in message, server.log(first)
        wait_for(lambda: not find_marked(first))
        disk.grow(64)
        second = server.finished(server.submit(weights=1, weights_mb=4))
        assert second["state"] == "success", running.said()


def _large(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 100_000]


def _lab_of_long_predictions(folder: Path) -> Lab:
    """Each of 400 items is predicted with 8 kB of text."""
    labels = {f"i{number}": ("positive", "negative")[number % 2] for number in range(60)}
    writeback = {"schemas": ["sentiment"], "include_unlabeled": True}
    return agent_lab(folder, items=400, labels=labels, heartbeat_timeout_s=60, model_training={"writeback": writeback})


@pytest.mark.parametrize("what", ["training/runs", "."])
def test_predictions_that_the_servers_disk_does_not_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """remote 46: the agent keeps them until there is room, and nothing is lost or doubled. `what` is on the small disk
    of the server's data: the runs, or everything."""
    use_fakes(monkeypatch)
    data = Lab(tmp_path / "lab", 1).project.output_dir
    with small_disk(data / what) as disk:
        lab = _lab_of_long_predictions(tmp_path / "lab")
        with served(lab) as server, agent(server.url, token_for(lab), tmp_path / "work") as running:
            run_id = server.submit(says="long")
            there = tmp_path / "work" / "jobs" / run_id / "attempt-1" / "predictions.jsonl"
            wait_for(there.exists)
            wait_for(lambda: "the server answered 507: The server could not store it: No space left" in running.said())
            assert server.run(run_id)["state"] == "running"
            disk.grow(64)
            run = server.finished(run_id)
            assert run["state"] == "success", (server.log(run_id), running.said())
            here = lab.project.runs_dir / run_id / "predictions.jsonl"
            assert here.read_bytes() == there.read_bytes() and here.stat().st_size > 2 << 20
            assert not here.with_name("predictions.jsonl.part").exists()
            names = [json.loads(line)["event"] for line in (here.parent / "events.jsonl").read_text().splitlines()]
            assert names.count("result") == 1


def test_a_bundle_that_the_servers_disk_does_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """remote 46"""
    use_fakes(monkeypatch)
    lab = agent_lab(tmp_path / "lab", items=MANY)
    with (
        small_disk(lab.project.runs_dir) as disk,
        served(lab) as server,
        agent(server.url, token_for(lab), tmp_path / "work"),
    ):
        message = _error(server.finished(server.submit()))
        assert "No space left" in message or "disk is full" in message
        disk.grow(64)
        assert server.finished(server.submit())["state"] == "success"


@pytest.mark.parametrize("lack", [4096, 8192, 200_000])
def test_a_piece_that_almost_finds_room_leaves_nothing_of_itself(tmp_path: Path, lack: int) -> None:
    """remote 46"""
    with small_disk(tmp_path / "small") as disk:
        intake = Intake(disk.folder, begin_attempt(disk.folder), 100)
        assert intake.append("events.jsonl", 0, b"a line\n" * 100) == 700
        piece = b"x" * 500_000
        free = shutil.disk_usage(disk.folder).free
        (disk.folder / "other").write_bytes(b"x" * (free - len(piece) + lack))
        with pytest.raises(NotStoredHere, match="No space left"):
            intake.append("events.jsonl", 700, piece)
        assert (disk.folder / "events.jsonl").read_bytes() == b"a line\n" * 100
        assert intake.held()["events.jsonl"] == 700
        disk.grow(4)
        assert intake.append("events.jsonl", 700, piece) == 500_700
