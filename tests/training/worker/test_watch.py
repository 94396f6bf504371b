"""A worker that nobody looks after any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs import Job, environment
from lab import wait_for
from potato.training.contract import lease as lease_module
from potato.training.contract.exits import Exit
from potato.training.contract.lease import Lease, count, count_up
from potato.training.worker import launch


@pytest.fixture
def leased(job: Callable[..., Job], ended: list[Any], tmp_path: Path) -> Callable[..., tuple[Job, Any]]:
    """Starts a job with the lease `lease`, good for a second, and a second's grace."""
    (tmp_path / "lease").touch()

    def start(**params: Any) -> tuple[Job, Any]:
        made = job(options={"lease": str(tmp_path / "lease"), "lease_s": 1.0, "grace_seconds": 1.0}, **params)
        ended.append(launch.start(sys.executable, made.spec_path, str(made.work), environment()))
        return made, ended[-1]

    return start


def test_it_ends_as_if_it_was_cancelled(leased: Callable[..., tuple[Job, Any]]) -> None:
    made, worker = leased(does="wait")
    wait_for(lambda: not launch.alive(worker))
    assert made.exit_code() == Exit.CANCELLED
    assert "nobody has looked after this job" in made.events("log")[-1].fields["msg"]
    assert made.events()[-1].fields["status"] == "cancelled"


def test_it_ends_with_all_that_it_started_however_deaf(leased: Callable[..., tuple[Job, Any]]) -> None:
    _, worker = leased(does="wait_ignoring")
    wait_for(lambda: not launch.members(worker))


def test_a_lease_that_is_renewed_does_not_run_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(lease_module.time, "monotonic", lambda: now[0])
    (tmp_path / "lease").touch()
    lease = Lease(str(tmp_path / "lease"), 10.0)
    for _ in range(5):
        now[0] += 9
        assert not lease.ran_out()
        count_up(str(tmp_path / "lease"))
        assert not lease.ran_out()
    now[0] += 11
    assert lease.ran_out()


def test_a_lease_is_counted_and_its_file_may_be_gone(tmp_path: Path) -> None:
    path = str(tmp_path / "lease")
    count_up(path)
    assert count(path) is None and Lease(path, 0.0).ran_out()
    Path(path).touch()
    os.utime(path, (5, 5))
    count_up(path)
    assert count(path) == 6
