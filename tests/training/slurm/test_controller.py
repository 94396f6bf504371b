"""A controller that stops, dies and comes back: one job runs, none is lost, none is there twice."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lab import wait_for
from slurm_cluster import Cluster
from slurm_scene import FAST, Login, Submitted

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


def test_a_controller_that_is_dead_during_the_submission(login: Login, cluster: Cluster) -> None:
    cluster.kill("slurmctld")
    one = login.submit()
    one.says("SLURM has not answered for")
    cluster.start_controller()
    ran_once(one, cluster)


def dies(cluster: Cluster) -> Callable[[], None]:
    """The controller is killed; what starts it."""
    cluster.kill("slurmctld")
    return cluster.start_controller


def stands_still(cluster: Cluster) -> Callable[[], None]:
    """The controller is stopped; what has it go on."""
    cluster.signal("slurmctld", signal.SIGSTOP)
    return lambda: cluster.signal("slurmctld", signal.SIGCONT)


@pytest.mark.parametrize("fails", [dies, stands_still])
def test_a_controller_that_does_not_answer_during_the_run(
    login: Login, cluster: Cluster, fails: Callable[[Cluster], Callable[[], None]]
) -> None:
    """remote 3"""
    one = login.submit({"prelude": ["sleep 6"]}, replace(FAST, finished=60))
    one.says("RUNNING on")
    mend = fails(cluster)
    one.says("SLURM has not answered for")
    mend()
    one.says("SLURM answers again after")
    ran_once(one, cluster)


def test_a_controller_that_has_forgotten_the_job_leaves_it_to_its_files(login: Login, cluster: Cluster) -> None:
    """remote 5: the job ended while nobody could ask, and is no longer known"""
    one = login.submit({"prelude": ["sleep 2"]})
    number = one.job_id()
    one.says("RUNNING on")
    cluster.kill("slurmctld")
    wait_for(lambda: (one.folder / "start-1" / "exit_code").exists())
    cluster.start_controller("-c")
    wait_for(cluster.answers, 60)
    assert cluster.run("squeue", "-h", "-t", "all", "-j", str(number), check=False) == ""
    assert one.ended(120)["exit_code"] == 0, one.log()
    assert one.log().count("starting the worker") == 1 and one.results() == ["success"]
    assert sum("Submitted SLURM job" in line for line in one.log()) == 1


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


def as_the_agent_leaves_it(one: Submitted) -> None:
    """The agent leaves the attempt's folder, without the bundle."""


def without_all_but_the_model(one: Submitted) -> None:
    """A server that leaves model files there removes everything else."""
    for path in one.folder.iterdir():
        if path.name != "artifacts":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def without_a_trace(one: Submitted) -> None:
    """A server that has brought all home removes the folder."""
    shutil.rmtree(one.folder.parent)


def test_a_job_that_is_started_again_after_the_end_of_its_run_does_nothing(login: Login, cluster: Cluster) -> None:
    """A controller that was killed goes on from what it wrote last: a job that has ended since begins anew, and nobody
    looks after it any more."""
    ways = (as_the_agent_leaves_it, without_all_but_the_model, without_a_trace)
    runs = [login.submit({"sbatch_args": ["--begin=now+30"]}) for _ in ways]
    numbers = [one.job_id() for one in runs]

    def with_these() -> bytes:
        known = jobs_written(cluster)
        return known if all(one.run_id.encode() in known for one in runs) else b""

    written: bytes = wait_for(with_these)
    for number in numbers:
        assert cluster.job(number)["JobState"] == "PENDING"
        cluster.run("scontrol", "update", f"jobid={number}", "StartTime=now")
    for one, leave in zip(runs, ways, strict=True):
        assert one.ended()["exit_code"] == 0, one.log()
        one.close()
        leave(one)
    left = [tree(one.folder) for one in runs]
    ended = [cluster.job(number)["EndTime"] for number in numbers]
    cluster.kill("slurmctld")
    (cluster.folder / "state" / "job_state").write_bytes(written)
    cluster.start_controller()
    wait_for(cluster.answers, 60)
    for number, before in zip(numbers, ended, strict=True):
        wait_for(lambda number=number: cluster.job(number)["JobState"] in ("COMPLETED", "FAILED"), 60)
        assert cluster.job(number)["StartTime"] > before, "it was started again"
    assert [tree(one.folder) for one in runs] == left
    assert "the run is over" in (runs[0].folder / "slurm.out").read_text("utf-8")


def jobs_written(cluster: Cluster) -> bytes:
    """What the controller wrote of its jobs; empty in the moment in which it replaces it."""
    try:
        return (cluster.folder / "state" / "job_state").read_bytes()
    except FileNotFoundError:
        return b""


def tree(folder: Path) -> dict[str, bytes]:
    """What lies in a folder, SLURM's own output apart."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "slurm.out")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
