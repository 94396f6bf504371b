"""Each end that a scheduler brings to a run, for real, and the sentence that a person reads."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from lab import wait_for
from potato.training.worker import launch
from slurm_cluster import Cluster
from slurm_scene import Login, Submitted

WAITS = {"params": {"does": "wait"}}


def failed(one: Submitted, reason: str, limit: float = 90) -> None:
    """Wait for its end; the reason is its error, word for word, and a line of its log."""
    one.ended(limit)
    sentence = f"SLURM job {one.job_id()} ended before the worker finished: {reason}"
    assert one.error()["message"] == sentence, one.log()
    assert one.error()["install_hint"]
    assert one.log()[-1] == sentence and one.results() == []


def test_an_scancel_from_outside(login: Login, cluster: Cluster) -> None:
    one = login.submit(**WAITS)
    one.says("now fit")
    cluster.run("scancel", str(one.job_id()))
    failed(one, "it was cancelled by an scancel from outside Potato")


def test_a_signal_to_the_batch_script_alone_reaches_the_trainer(login: Login, cluster: Cluster) -> None:
    """remote 14: the script has become the worker, which ends by itself and leaves nothing"""
    one = login.submit(**WAITS)
    one.says("now fit")
    cluster.run("scancel", "--batch", "--signal=TERM", str(one.job_id()))
    failed(one, "it was cancelled by an scancel from outside Potato")
    assert (one.folder / "start-1" / "exit_code").read_text() == "4\n"
    wait_for(lambda: not launch.find_marked(one.run_id))


def test_preemption_with_requeue_is_another_attempt_at_the_same_run(login: Login, cluster: Cluster) -> None:
    """remote 7"""
    one = login.submit({"nodelist": "n1", "cpus_per_task": 4}, params={"does": "wait", "at": "fit"})
    one.says("now fit")
    high = cluster.submit("sleep 2", "--partition=high", "--nodelist=n1", "--cpus-per-task=4")
    one.says("SLURM has requeued the job: attempt 2")
    one.says("SLURM has started the job again: attempt 2")
    wait_for(lambda: one.log().count("now fit") == 2, 60)
    assert [event.fields["attempt"] for event in one.events() if "attempt" in event.fields] == [1, 2]
    assert cluster.job(one.job_id())["Restarts"] == "1" and high != one.job_id()
    one.cancel()
    assert one.ended()["reason"] == "cancelled"
    assert one.results() == ["cancelled"], "the first attempt's own last word is not taken"


def test_preemption_without_requeue(login: Login, cluster: Cluster) -> None:
    one = login.submit({"partition": "cancel", "nodelist": "n1", "cpus_per_task": 4}, **WAITS)
    one.says("now fit")
    cluster.submit("sleep 1", "--partition=high", "--nodelist=n1", "--cpus-per-task=4")
    failed(one, "it was preempted")


def test_too_much_memory(login: Login) -> None:
    hungry = f"{sys.executable} -c 'x = bytearray(500 << 20); import time; time.sleep(100)' &"
    one = login.submit({"mem": "200", "prelude": [hungry]}, **WAITS)
    failed(one, "it ran out of memory")


def test_a_job_that_can_never_start_is_given_up(login: Login, cluster: Cluster) -> None:
    """remote 10"""
    large = login.submit({"sbatch_args": ["--ntasks=64"]})
    cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=test")
    odd = login.submit({"constraint": "n2", "time": "1"})
    odd.says("PENDING (ReqNodeNotAvail")
    cluster.run("scontrol", "update", "nodename=n2", "availablefeatures=other", "activefeatures=other")
    for one, why in (
        (large, "it asks for more than its partition has (PartitionConfig)"),
        (odd, "no node is what its constraints ask for (BadConstraints)"),
    ):
        one.ended()
        assert one.error()["message"] == f"SLURM job {one.job_id()} will never start, because {why}", one.log()
        assert any(": it will never start, because " in line for line in one.log())
    cluster.run("scontrol", "update", "nodename=n2", "state=resume", "availablefeatures=n2", "activefeatures=n2")


def test_a_held_job_is_said_to_be_held_and_goes_on_when_released(login: Login, cluster: Cluster) -> None:
    """remote 10"""
    released, kept = (login.submit({"sbatch_args": ["--hold"]}) for _ in range(2))
    for one in (released, kept):
        line = one.says("PENDING (JobHeldUser)")
        assert line.endswith(f"it is held until somebody runs `scontrol release {one.job_id()}`")
    cluster.run("scontrol", "release", str(released.job_id()))
    assert released.ended()["exit_code"] == 0
    kept.ended()
    assert f"SLURM job {kept.job_id()} is held (JobHeldUser), and nobody released it" in kept.error()["message"]


def test_rare_states_of_a_running_job(login: Login, cluster: Cluster) -> None:
    one = login.submit(**WAITS)
    one.says("now fit")
    number = one.job_id()
    cluster.run("scontrol", "suspend", str(number))
    one.says(f"SLURM job {number}: SUSPENDED")
    cluster.run("scontrol", "resume", str(number))
    wait_for(lambda: sum("RUNNING on" in line for line in one.log()) == 2)
    cluster.run("scontrol", "requeuehold", "State=SpecialExit", str(number))
    one.says("SPECIAL_EXIT (job requeued in held state): it is held until somebody runs")
    one.ended()
    assert "is held (job requeued in held state)" in one.error()["message"]


def test_sbatch_refuses_in_its_own_words_with_the_flags_that_were_sent(login: Login) -> None:
    for slurm, words in (
        ({"partition": "nosuch"}, "Invalid partition name specified (flags: --partition=nosuch)"),
        ({"reservation": "none"}, "Requested reservation is invalid (flags: --reservation=none)"),
        ({"constraint": "nosuch"}, "Invalid feature specification (flags: --constraint=nosuch)"),
        ({"time": "banana"}, "Invalid --time specification (flags: --time=banana)"),
    ):
        one = login.submit(slurm)
        one.ended()
        assert one.error()["message"].startswith("sbatch refused the job: ")
        assert one.error()["message"].endswith(words)


def test_storage_that_a_node_does_not_share(login: Login, cluster: Cluster) -> None:
    cluster.kill("n2")
    cluster.start_node("n2", lacks=login.folder)
    one = login.submit({"nodelist": "n2"})
    failed(one, f"SLURM could not write slurm.out in {one.folder} on n2")
    cluster.kill("n2")


def test_an_interpreter_that_the_node_does_not_have(login: Login) -> None:
    one = login.submit({"job_python": "/opt/none/bin/python3"})
    one.ended()
    message = one.error()["message"]
    assert message.endswith(("/opt/none/bin/python3 was not found on n1", "/opt/none/bin/python3 was not found on n2"))


def test_a_package_that_the_node_lacks_is_the_workers_own_error(login: Login) -> None:
    one = login.submit(trainer="strange-needy")
    assert one.ended()["exit_code"] == 3
    assert one.error()["message"].startswith("Trainer 'strange-needy' could not be imported: ")
    assert any("COMPLETED" in line or "FAILED" in line for line in one.log())


def test_an_interpreter_that_dies_before_the_worker_begins(login: Login, tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho 'Fatal Python error: no encodings' >&2\nexit 9\n")
    broken.chmod(0o755)
    one = login.submit({"job_python": str(broken)})
    failed(one, "its script ended with exit code 9: Fatal Python error: no encodings")


def test_a_prelude_that_fails(login: Login) -> None:
    one = login.submit(
        {
            "prelude": [
                "module_that_is_not_there() { echo 'no module cuda/99' >&2; exit 7; }",
                "module_that_is_not_there",
            ]
        }
    )
    failed(one, "its script ended with exit code 7: no module cuda/99")
    assert b"no module cuda/99" in bytes(one.run.files["stderr.log"])


def test_a_worker_that_is_killed(login: Login) -> None:
    one = login.submit(**WAITS)
    one.says("now fit")
    launch_pid = wait_for(lambda: launch.find_marked(one.run_id))
    for pid in launch_pid:
        os.kill(pid, signal.SIGKILL)
    failed(one, "it was killed by signal 9")
