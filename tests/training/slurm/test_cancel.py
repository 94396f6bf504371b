"""Cancelling a job in each of its states, and with a controller that does not answer: nothing may be left."""

from __future__ import annotations

import signal
import time
from typing import Any

from lab import wait_for
from potato.training.worker import launch
from slurm_cluster import Cluster
from slurm_scene import Login, Submitted

WAITS = {"params": {"does": "wait"}}


def deaf(login: Login, **job: Any) -> Submitted:
    """A run whose job hears no SIGTERM."""
    one = login.submit({"prelude": ["trap '' TERM", 'touch "$potato_folder/deaf"', "sleep 600"]}, **job)
    wait_for(lambda: (one.folder / "deaf").exists())
    one.says("RUNNING on")
    return one


def test_a_running_job_gets_its_grace_and_ends_by_itself(login: Login) -> None:
    one = login.submit(**WAITS)
    one.says("now fit")
    one.cancel()
    assert one.ended()["reason"] == "cancelled"
    assert one.results() == ["cancelled"], "the worker's own last word"
    assert (one.folder / "start-1" / "exit_code").read_text() == "4\n"


def test_a_pending_job_is_cancelled_at_once(login: Login) -> None:
    """annotation 70, remote 13"""
    one = login.submit({"sbatch_args": ["--begin=now+1hour"]})
    one.says("PENDING (BeginTime)")
    began = time.monotonic()
    one.cancel()
    assert one.ended()["reason"] == "cancelled"
    assert time.monotonic() - began < 60, "signalling a job that waits takes 95 seconds"
    assert one.log()[-1] == "the job was cancelled before it started"


def test_what_does_not_listen_is_ended_after_its_grace(login: Login) -> None:
    one = deaf(login, grace_seconds=1)
    one.cancel()
    assert one.ended() == {**one.ended(), "exit_code": 4, "reason": "cancelled"}


def test_a_worker_leaves_nothing_behind(login: Login) -> None:
    """remote 14: children that hear nothing, one of them in a session of its own"""
    one = login.submit(params={"does": "leave_children"})
    assert one.ended()["exit_code"] == 0
    assert sum("child " in line for line in one.log()) == 2
    wait_for(lambda: not launch.find_marked(one.run_id))


def test_a_job_that_is_ending_already_is_waited_for(login: Login, cluster: Cluster) -> None:
    one = deaf(login)
    cluster.run("scancel", str(one.job_id()))
    one.says("COMPLETING")
    one.cancel()
    assert one.ended()["reason"] == "cancelled"


def test_a_controller_that_does_not_answer_hears_of_it_later(cluster: Cluster, login: Login) -> None:
    cluster.remember()
    running = login.submit(**WAITS)
    waiting = login.submit({"sbatch_args": ["--begin=now+1hour"]})
    running.says("now fit")
    waiting.says("PENDING (BeginTime)")
    cluster.kill("slurmctld")
    for one in (running, waiting):
        one.cancel()
    for one in (running, waiting):
        one.says("SLURM has not answered for")
        assert one.run.result is None
    cluster.start_controller()
    for one in (running, waiting):
        assert one.ended()["reason"] == "cancelled"


def test_a_controller_that_stands_still_hears_of_it_once(login: Login, cluster: Cluster) -> None:
    one = login.submit(**WAITS)
    one.says("now fit")
    cluster.signal("slurmctld", signal.SIGSTOP)
    one.cancel()
    one.says("SLURM has not answered for")
    cluster.signal("slurmctld", signal.SIGCONT)
    assert one.ended()["reason"] == "cancelled"


def test_ctrl_c_at_the_agent_cancels_the_job(login: Login) -> None:
    one = login.submit(**WAITS)
    one.says("now fit")
    one.stop_agent()
    assert one.ended()["reason"] == "stopped"


def test_a_server_that_stays_away_frees_the_allocation(login: Login, cluster: Cluster) -> None:
    one = login.submit(**WAITS, give_up_s=2)
    one.says("now fit")
    one.standin.stop()
    wait_for(lambda: not cluster.jobs(), 30)
    one.standin.start_again()
    assert one.ended()["reason"] == "the server was out of reach"
