"""Cancelling: SIGTERM at every stage. annotation 50, the worker's side"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs import Job, environment
from lab import wait_for
from potato.training.contract.exits import Exit
from potato.training.worker import launch

Make = Callable[..., Job]


def begun(made: Job, ended: list[Any], **env: str) -> Any:
    worker = launch.start(sys.executable, made.spec_path, str(made.work), environment(**env))
    ended.append(worker)
    return worker


def stopped(made: Job, worker: Any) -> int:
    """Ask it to stop, which it would never do by itself; its exit code."""
    launch.signal_stop(worker)
    wait_for(lambda: not launch.alive(worker), 60)
    return made.exit_code()


@pytest.mark.parametrize("does", ["wait", "wait_deaf"])
@pytest.mark.parametrize("at", ["fit", "save", "predict"])
def test_a_job_stops_wherever_it_stands(job: Make, ended: list[Any], at: str, does: str) -> None:
    made = job(does=does, at=at)
    worker = begun(made, ended)
    wait_for(lambda: [event for event in made.events("log") if event.fields["msg"] == f"now {at}"])
    assert stopped(made, worker) == Exit.CANCELLED
    result = made.events()[-1]
    assert (result.name, result.fields["status"]) == ("result", "cancelled")
    assert not list(made.work.glob("predictions*"))
    assert not list(made.work.glob(".scratch*"))
    left = [path.name for path in (made.work / "artifacts").iterdir()]
    assert left == (["1-s"] if at == "predict" else [])


def test_a_job_stops_while_it_imports(job: Make, ended: list[Any], tmp_path: Path) -> None:
    made = job("strange-slow-import")
    worker = begun(made, ended, STRANGE_GO=str(tmp_path / "never"))
    wait_for(made.events)
    assert stopped(made, worker) == Exit.CANCELLED


def test_a_job_that_nobody_recorded_does_not_begin(job: Make) -> None:
    """Who started it died before it had written down which process it is."""
    made = job()
    command = [sys.executable, "-m", "potato.training.worker", made.spec_path, "--when-told"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, env=environment(), check=False, timeout=60)
    assert done.returncode == Exit.CANCELLED
    assert not made.events()


def test_ctrl_c_stops_a_job_too(job: Make) -> None:
    made = job(does="wait")
    command = [sys.executable, "-m", "potato.training.worker", made.spec_path]
    with subprocess.Popen(command, env=environment()) as process:
        wait_for(lambda: made.events("log"))
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(10) == Exit.CANCELLED
