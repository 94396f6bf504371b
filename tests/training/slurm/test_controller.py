"""A controller that stops, dies and comes back: one job runs, none is lost, none is there twice."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from lab import wait_for
from slurm_cluster import Cluster
from slurm_scene import FAST, Login, Submitted, only_in_full

FAULTS = int(os.environ.get("POTATO_FAULTS", "40"))


@pytest.fixture(autouse=True)
def remembered(cluster: Cluster) -> None:
    """Whenever the controller is killed, it knows that the jobs of the tests before are over."""
    cluster.remember()


def ran_once(one: Submitted, cluster: Cluster) -> None:
    """It ends well, and its worker began once; whatever SLURM knows of its name ended well too."""
    assert one.ended(120)["exit_code"] == 0, one.log()
    assert one.log().count("starting the worker") == 1 and one.results() == ["success"]
    names = [state for _, name, state, _ in cluster.jobs("all") if one.run_id in name.replace("potato-", "", 1)]
    assert names.count("COMPLETED") <= 1, names


def test_a_controller_that_stands_still_during_the_submission(login: Login, cluster: Cluster) -> None:
    """remote 2: sbatch fails, and the job runs"""
    cluster.signal("slurmctld", signal.SIGSTOP)
    one = login.submit()
    one.says("sbatch did not say which job it submitted: ")
    cluster.signal("slurmctld", signal.SIGCONT)
    ran_once(one, cluster)
    assert len([name for _, name, *_ in cluster.jobs("all") if one.run_id in name]) == 1


@only_in_full
def test_a_controller_that_is_dead_during_the_submission(login: Login, cluster: Cluster) -> None:
    cluster.kill("slurmctld")
    one = login.submit()
    one.says("SLURM has not answered for")
    cluster.start_controller()
    ran_once(one, cluster)


def test_a_controller_that_dies_during_the_run(login: Login, cluster: Cluster) -> None:
    """remote 3"""
    one = login.submit({"prelude": ["sleep 6"]}, replace(FAST, finished=60))
    one.says("RUNNING on")
    cluster.kill("slurmctld")
    one.says("SLURM has not answered for")
    cluster.start_controller()
    one.says("SLURM answers again after")
    ran_once(one, cluster)


def test_a_worker_that_finishes_while_nobody_answers_is_found_finished(login: Login, cluster: Cluster) -> None:
    """No answer is never the end of a job. SLURM itself may think that the job has not begun, and want to start it."""
    one = login.submit({"prelude": ["sleep 2"]})
    one.says("RUNNING on")
    cluster.kill("slurmctld")
    wait_for(lambda: (one.folder / "start-1" / "exit_code").exists())
    one.says("SLURM has not answered for")
    assert one.run.result is None
    cluster.start_controller()
    ran_once(one, cluster)


@pytest.mark.parametrize("seed", range(max(2, FAULTS // 20)))
def test_a_controller_that_is_killed_at_any_instant_of_a_run(login: Login, cluster: Cluster, seed: int) -> None:
    """Right after a submission it forgets the job."""
    one = login.submit({"prelude": ["sleep 2"]})
    wait_for(lambda: (one.folder / "slurm.json").exists())
    if seed % 2:
        one.job_id()
    cluster.kill("slurmctld")
    cluster.start_controller()
    assert one.ended(120)["exit_code"] == 0, one.log()
    assert one.results() == ["success"]
