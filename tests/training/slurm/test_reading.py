"""Reading SLURM's words: states, answers of `sbatch`, `squeue`, `scontrol`. Nothing is guessed."""

from __future__ import annotations

import pytest

from potato.training.agent.slurm import answers, states
from potato.training.agent.slurm.answers import Answer, JobId, Listed
from potato.training.agent.slurm.commands import Said, environment
from potato.training.agent.slurm.states import Kind, State

LONG = """
BOOT_FAIL CANCELLED COMPLETED CONFIGURING COMPLETING DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PENDING PREEMPTED
RUNNING RESV_DEL_HOLD REQUEUE_FED REQUEUE_HOLD REQUEUED RESIZING REVOKED SIGNALING SPECIAL_EXIT STAGE_OUT STOPPED
SUSPENDED TIMEOUT"""
SHORT = "BF CA CD CF CG DL F NF OOM PD PR R RD RF RH RQ RS RV SI SE SO ST S TO"
WORDS = LONG.split()


@pytest.mark.parametrize("word", WORDS + SHORT.split())
def test_every_word_of_slurms_is_known_with_whatever_it_hangs_on_it(word: str) -> None:
    """remote 6"""
    state = states.read(word)
    assert state.kind is not Kind.UNKNOWN and state.word in WORDS
    for written in (f"{word}+", f"{word} by 1000", f"  {word.lower()}", f"{word}*"):
        assert states.read(written) == state


def test_a_word_that_is_not_known_means_that_the_job_goes_on() -> None:
    assert states.read("DAYDREAMING") == State("DAYDREAMING", Kind.UNKNOWN)
    assert states.read("") == State("?", Kind.UNKNOWN)


@pytest.mark.parametrize(
    ("reason", "never", "held"),
    [
        ("Priority", False, False),
        ("Resources", False, False),
        ("Dependency", False, False),
        ("ReqNodeNotAvail, UnavailableNodes:n2", False, False),
        ("PartitionDown", False, False),
        ("DependencyNeverSatisfied", True, False),
        ("PartitionConfig", True, False),
        ("BadConstraints", True, False),
        ("JobHeldUser", False, True),
        ("JobHeldAdmin", False, True),
        ("launch failed requeued held", False, True),
        ("job requeued in held state", False, True),
    ],
)
def test_waiting_is_told_from_waiting_in_vain(reason: str, never: bool, held: bool) -> None:
    """remote 10"""
    assert (states.never(reason) is not None, states.held(states.read("PD"), reason)) == (never, held)


@pytest.mark.parametrize(
    ("out", "job"),
    [
        ("4242\n", JobId(4242)),
        ("75168975;hpc-2\n", JobId(75168975, "hpc-2")),
        ("  12  \n\n", JobId(12)),
        ("Submitted batch job 4242\n", None),
        ("Submitted batch job 4242 on cluster hpc\n", None),
        ("20 jobs are waiting\n4242\n", None),
        ("20261129\n4242\n", None),
        ("0\n", None),
        ("", None),
    ],
)
def test_an_id_is_digits_alone_or_nothing(out: str, job: JobId | None) -> None:
    """remote 1"""
    assert answers.submitted(out) == job


def said(out: str = "", err: str = "", code: int | None = 0) -> Said:
    return Said(code, out, err, 25.0)


def listed(number: int, state: str, nodes: str = "", reason: str = "None") -> Listed:
    return Listed(number, states.read(state), nodes, reason)


@pytest.mark.parametrize(
    ("printed", "answer"),
    [
        (said("7|PENDING||Priority\n"), Answer((listed(7, "PENDING", "", "Priority"),))),
        (said("CLUSTER: hpc\n7|RUNNING|n[1-2],n9|None\n"), Answer((listed(7, "RUNNING", "n[1-2],n9"),))),
        (
            said("motd: be nice | to others\n7|PENDING||Nodes required for job are DOWN, DRAINED or | so\n"),
            Answer((listed(7, "PENDING", "", "Nodes required for job are DOWN, DRAINED or | so"),)),
        ),
        (said(""), Answer(())),
        (said("CLUSTER: hpc\n"), Answer(())),
        (said("", "slurm_load_jobs error: Invalid job id specified\n", 1), Answer(())),
        (said("CLUSTER: hpc\n", "slurm_load_jobs error: Unable to contact slurm controller\n"), None),
        (said("", "slurm_load_jobs error: Socket timed out on send/recv operation\n", 1), None),
        (said("maintenance until Monday\n"), None),
        (said("", "", 1), None),
        (said(code=None), None),
    ],
)
def test_squeue_says_a_state_not_there_or_nothing(printed: Said, answer: Answer | None) -> None:
    """remote 3, 4, 5: only a state moves a run"""
    found = answers.listed(printed)
    assert found.jobs is None and found.words if answer is None else found == answer


def test_a_job_is_said_as_people_know_it() -> None:
    assert listed(7, "PENDING", "", "Priority").text == "PENDING (Priority)"
    assert listed(7, "RUNNING", "node07").text == "RUNNING on node07"
    assert listed(7, "COMPLETING", "node07").text == "COMPLETING"


SHOWN = (
    "JobId=4 JobName=potato-x UserId=root(0) Priority=1 JobState=TIMEOUT Reason=TimeLimit Dependency=(null) Requeue=1 "
    "ExitCode=0:9 NodeList=n1 BatchHost=n1 Command=/shared/JobState=COMPLETED/job.sh \n"
)


def test_scontrol_tells_how_it_ended_if_it_is_that_very_job() -> None:
    detail = answers.detail(said(SHOWN), "potato-x")
    assert detail is not None
    assert (detail.state.word, detail.reason, detail.exit, detail.nodes) == ("TIMEOUT", "TimeLimit", "0:9", "n1")
    assert answers.detail(said(SHOWN), "potato-y") is None, "SLURM gives numbers again"
    assert answers.detail(said("", "slurm_load_jobs error: Invalid job id specified", 1), "potato-x") is None


def test_a_program_is_quoted_without_its_name() -> None:
    assert said(
        "", "sbatch: error: invalid partition\nsbatch: error: Batch job submission failed: No\r\n", 1
    ).words == ("Batch job submission failed: No")
    assert said("", "", 140).words == "exit code 140 and not a word"
    assert said(code=None).words == "no answer within 25 seconds"


def test_nothing_that_steers_slurm_reaches_it_and_no_potato_of_the_agents() -> None:
    own = {
        "PATH": "/bin",
        "SLURM_CONF": "/etc/s.conf",
        "SLURM_JOB_ID": "7",
        "SLURM_CPU_BIND": "quiet",
        "SBATCH_PARTITION": "gpu",
        "SQUEUE_STATES": "PD",
        "SCANCEL_NAME": "x",
        "SLURMISH": "stays",
        "PYTHONPATH": "/agent:/mine",
    }
    kept = environment(own, root="/agent")
    assert kept == {"PATH": "/bin", "SLURM_CONF": "/etc/s.conf", "SLURMISH": "stays", "PYTHONPATH": "/mine"}
