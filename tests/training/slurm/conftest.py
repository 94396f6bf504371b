"""A real cluster for each test process, and agents on its login node that submit to it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import slurm_cluster
from jobs import STRANGE
from potato.training.worker import launch
from slurm_cluster import Cluster
from slurm_scene import Login


@pytest.fixture(scope="session")
def session_cluster() -> Iterator[Cluster]:
    """This test process's cluster."""
    with slurm_cluster.shared_folder() as folder, slurm_cluster.running(folder) as cluster:
        yield cluster


@pytest.fixture
def cluster(session_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster that is whole and idle, which this process and its children find."""
    for name, value in session_cluster.env.items():
        monkeypatch.setenv(name, value)
    session_cluster.heal()
    yield session_cluster
    session_cluster.heal()


def _left(cluster: Cluster) -> list[tuple[int, str, str, str]]:
    """The jobs in the queue that do not go."""
    end = time.monotonic() + 30
    while (jobs := cluster.jobs()) and time.monotonic() < end:
        time.sleep(0.05)
    return jobs


@pytest.fixture
def login(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Login]:
    """The login node. When the test is over, nothing of its runs may be in the queue or on the nodes."""
    monkeypatch.setenv("PYTHONPATH", str(STRANGE))
    with slurm_cluster.shared_folder() as folder, contextlib.ExitStack() as stack:
        made = Login(folder, stack)
        try:
            yield made
            left = _left(cluster)
            assert left == [], [left, *(one.log() for one in made.submitted)]
            assert [pid for one in made.submitted for pid in launch.find_marked(one.run_id)] == []
        finally:
            made.close()


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Puts a program of the test's before SLURM's: name and `sh` text."""
    folder = tmp_path / "stubs"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def put(name: str, text: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        path.chmod(0o755)
        return path

    return put
