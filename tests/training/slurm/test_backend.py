"""The slurm backend, end to end: a real sshd as login node, a real SLURM behind it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import minilm_folder
from lab import wait_for
from machines import PYTHON
from potato.store.training.runs import State
from potato.training.backends import open_backend
from raters import majority
from slurm_cluster import Cluster
from slurm_house import CLUSTER, backend, behind, login_node
from ssh_scene import error, jobs_there, scene, ssh_lab
from sshd import Host


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A login node."""
    with login_node(monkeypatch) as made:
        yield made


@pytest.fixture
def cluster(host: Host) -> Iterator[Cluster]:
    """The cluster behind it."""
    with behind(host) as made:
        yield made


def test_a_run_is_a_job_of_the_cluster_and_leaves_nothing_there(host: Host, cluster: Cluster, tmp_path: Path) -> None:
    prelude = ["export POTATO_PRELUDE=ran"]
    lab = ssh_lab(tmp_path, {CLUSTER: backend(host, cluster, gres="gpu:1", time="10", prelude=prelude)})
    with scene(lab) as made:
        here = made.run("local")
        run_id = made.submit(CLUSTER, seconds=5)  # so that squeue is asked while it runs
        run = made.success(run_id)
        log = made.log(run_id)
    assert run.scores == here.scores and run.writeback == here.writeback
    assert "Submitted SLURM job" in log and "with --gres=gpu:1 --time=10" in log
    assert ": RUNNING on n" in log
    assert list(made.folder(run_id).artifacts.rglob("model.txt"))
    assert jobs_there(host) == []
    wait_for(lambda: not cluster.jobs())
    assert host.there.processes() == {}


def test_a_cancel_frees_the_allocation(host: Host, cluster: Cluster, tmp_path: Path) -> None:
    lab = ssh_lab(tmp_path, {CLUSTER: backend(host, cluster)})
    with scene(lab) as made:
        run_id = made.submit(CLUSTER, seconds=300)
        made.trains(run_id)
        made.supervisor.cancel(run_id)
        assert made.finished(run_id).state is State.CANCELLED
        wait_for(lambda: not cluster.jobs(), 60)
        wait_for(lambda: not jobs_there(host), 60)


def test_a_job_that_waits_for_too_long_is_stopped(host: Host, cluster: Cluster, tmp_path: Path) -> None:
    """Time in SLURM's queue counts for `max_wall_seconds`, and holds up the runs behind it no longer than that."""
    lab = ssh_lab(tmp_path, {CLUSTER: backend(host, cluster, sbatch_args=["--hold"])})
    with scene(lab) as made:
        waits = made.submit(CLUSTER)
        made.says(waits, "PENDING (JobHeldUser)", 120)
    lab.write({**lab.config, "model_training": {**lab.config["model_training"], "max_wall_seconds": 1}})
    with scene(lab) as made:
        failure = error(made.finished(waits))
        assert failure["message"] == "The run was stopped after 1 seconds (max_wall_seconds)", made.log(waits)
        assert "SLURM's queue counts too" in failure["hint"]
        wait_for(lambda: not cluster.jobs() and not jobs_there(host), 90)


def test_the_check_names_what_a_run_would_use(host: Host, cluster: Cluster, tmp_path: Path) -> None:
    there = backend(host, cluster, job_python="/opt/conda/bin/python")
    bare = backend(host, cluster)
    bare["env"] = {**bare["env"], "PATH": "/nowhere"}
    lab = ssh_lab(tmp_path, {CLUSTER: there, "bare": {**bare, "env": {"PATH": "/var/empty"}, "python": PYTHON}})
    report = open_backend(lab.project, CLUSTER).check(None)
    assert report.ok, report.lines
    assert any("/usr/bin/sbatch" in line for line in report.lines)
    assert any("jobs run with /opt/conda/bin/python" in line for line in report.lines)
    report = open_backend(lab.project, "bare").check(None)
    assert not report.ok
    assert "login has no sbatch on PATH, so it cannot submit jobs" in report.lines


@pytest.mark.computes
@pytest.mark.parametrize(
    ("trainer", "params"),
    [
        ("sklearn-text", {}),
        ("hf-text-classification", {"epochs": 1, "max_length": 32}),
    ],
)
def test_on_the_reviews_the_scores_are_those_of_local(
    host: Host,
    cluster: Cluster,
    tmp_path: Path,
    reviews: Path,
    monkeypatch: pytest.MonkeyPatch,
    trainer: str,
    params: dict[str, Any],
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    rows = [json.loads(line) for line in (reviews / "reviews.jsonl").read_text("utf-8").splitlines()][:120]
    if trainer.startswith("hf"):
        rows, params = rows[:60], {"base_model": minilm_folder(), **params}
    asked = {"mem": "3500", "gres": "gpu:1", "prelude": ["export HF_HUB_OFFLINE=1"], "num_threads": 1}
    lab = ssh_lab(tmp_path, {CLUSTER: backend(host, cluster, **asked)}, rows, majority(reviews))
    with scene(lab) as made:
        here, there = (made.success(made.submit(name, trainer, **params), 280) for name in ("local", CLUSTER))
        told = [made.folder(run.run_id).predictions.read_bytes() for run in (here, there)]
        assert list(made.folder(there.run_id).artifacts.rglob("*"))
    assert here.scores and there.scores == here.scores and told[0] == told[1]
    assert jobs_there(host) == []
