"""Clocks that are wrong, and clocks that are set in mid-job."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shifted
from agent_scene import BACKEND, Served, agent, agent_lab, served, token_for
from lab import use_fakes, wait_for

DAY = 86400.0
STEPS = (DAY, -DAY, 0.0)


class Clock:
    """The clock of some processes, by a file."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.set(0.0)

    def set(self, seconds: float) -> None:
        """Make it wrong by so much, at once."""
        beside = self.file.with_suffix(".new")
        beside.write_text(str(seconds))
        beside.replace(self.file)


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    """The server's clock."""
    use_fakes(monkeypatch)
    folder = str(next(iter(shifted.__path__)))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([folder, os.environ["PYTHONPATH"]]))
    clock = Clock(tmp_path / "server.clock")
    monkeypatch.setenv("SHIFTED_CLOCK", str(clock.file))
    yield clock


def test_clocks_that_are_set_in_mid_job_change_nothing(clock: Clock, tmp_path: Path) -> None:
    """remote 40: a day forth, a day back, and right again, on either side; limits of time are on, and hold."""
    limits = {"heartbeat_timeout_s": 30, "queue_timeout_s": 600, "model_training": {"max_wall_seconds": 600}}
    there, go = Clock(tmp_path / "agent.clock"), tmp_path / "go"
    with served(agent_lab(tmp_path / "lab", **limits)) as server:
        token = token_for(server.lab)
        with agent(server.url, token, tmp_path / "work", SHIFTED_CLOCK=str(there.file)) as running:
            run_id, behind = server.submit(until=str(go)), server.submit()
            lease = tmp_path / "work" / "jobs" / run_id / "attempt-1" / "lease"
            wait_for(lambda: "the fake begins" in server.log(run_id))
            for one in (clock, there):
                for seconds in STEPS:
                    one.set(seconds)
                    _goes_on(server, run_id, lease)
            go.touch()
            for each in (run_id, behind):
                run = server.finished(each)
                assert (run["state"], run["attempt"]) == ("success", 1), (server.log(each), running.said())
        assert "trying again" not in running.said()
    assert server.lab.run(run_id).warnings == []


def test_a_clock_that_is_far_off_is_said_once(clock: Clock, tmp_path: Path) -> None:
    """remote 40"""
    there = Clock(tmp_path / "agent.clock")
    there.set(-DAY)
    with served(agent_lab(tmp_path / "lab")) as server:
        token = token_for(server.lab)
        with agent(server.url, token, tmp_path / "work", "--once", SHIFTED_CLOCK=str(there.file)):
            run_id = server.submit(seconds=3)
            assert server.finished(run_id)["state"] == "success"
        said = [line for line in server.log(run_id).splitlines() if "seconds off; nothing depends on it" in line]
        assert len(said) == 1, server.log(run_id)
        told = re.search(r"is ([+-]\d+) seconds off", said[0])
        assert told is not None and abs(int(told[1]) + DAY) < 30, said  # what was on the way comes to it


def _goes_on(server: Served, run_id: str, lease: Path) -> None:
    """Two more of the agent's reports are answered, and the run goes."""
    count = lease.stat().st_mtime
    wait_for(lambda: lease.stat().st_mtime >= count + 2 or server.run(run_id)["state"] != "running")
    assert server.run(run_id)["state"] == "running", (BACKEND, server.log(run_id))
