"""Ends that SLURM itself takes a minute or more to bring about: all at once. They wait, and compute nothing."""

from __future__ import annotations

import pytest

from slurm_cluster import Cluster
from slurm_scene import Login

pytestmark = pytest.mark.timeout(600)
WAITS = {"params": {"does": "wait"}}


def test_a_time_limit_and_a_node_that_fails(login: Login, cluster: Cluster) -> None:
    """remote 8"""
    limited = login.submit({"time": "1", "nodelist": "n1"}, **WAITS)
    lost = login.submit({"nodelist": "n2", "sbatch_args": ["--no-requeue"]}, **WAITS)
    moved = login.submit({"exclude": "n1", "mem": "100"}, **WAITS)
    for one in (limited, lost, moved):
        one.says("now fit")
    cluster.kill("n2")
    moved.says("SLURM has requeued the job: attempt 2", 120)
    lost.ended(120)
    sentence = "SLURM job {} ended before the worker finished: {}"
    assert lost.error()["message"] == sentence.format(lost.job_id(), "its node failed")
    taken = len(moved.log())
    cluster.start_node("n2")
    moved.says("SLURM has started the job again: attempt 2", 180)
    assert not any("now fit" in line for line in moved.log()[taken : taken + 1])
    moved.cancel()
    assert moved.ended()["reason"] == "cancelled"
    limited.ended(180)
    assert limited.error()["message"] == sentence.format(limited.job_id(), "it reached its time limit")
