"""How a job ended, judged by what it left: `exit_code` first, then what SLURM says, then what stands in `slurm.out`.

Success needs two witnesses: the worker's own final record, whole, and a clean end. Where they disagree both facts are
told.
"""

import re
from dataclasses import dataclass
from typing import Dict, Optional, Tuple

from potato.training.agent.slurm import states
from potato.training.agent.slurm.answers import Detail
from potato.training.contract.events import Event
from potato.training.contract.exits import Exit

ENDED = "SLURM job %d ended before the worker finished: %s"
NO_OUTPUT = "0:53"
"""The exit code of a job whose output SLURM could not open."""
KEEP = "; `keep_remote: true` keeps slurm.out"


@dataclass(frozen=True)
class Failure:
    """Why a run failed: a stable code, a sentence, and what to do."""

    code: str
    message: str
    hint: str = ""


@dataclass(frozen=True)
class Evidence:
    """What is known of a job that is over. `state` is SLURM's last word of it, empty where SLURM knows nothing."""

    job_id: int
    folder: str
    code: Optional[int] = None
    final: Optional[Event] = None
    whole: bool = False
    """Whether the predictions are those that the final record is about."""
    lacks: Optional[str] = None
    """A model file that is not whole."""
    failed: str = ""
    """Why `job.sh` did not start the worker."""
    state: str = ""
    detail: Optional[Detail] = None
    output: str = ""
    """The end of `slurm.out`."""
    printed: str = ""
    """The last line of what the job's script or the worker printed."""


@dataclass(frozen=True)
class Verdict:
    """`code` is the worker's exit code. `keeps_record` tells whether its final record counts."""

    code: Optional[int]
    keeps_record: bool
    failure: Optional[Failure] = None
    warnings: Tuple[str, ...] = ()


def judge(found: Evidence) -> Verdict:
    """How a job ended that nobody of Potato's ended."""
    if found.final is not None and found.final.name == "result" and found.final.fields.get("status") == "success":
        return _succeeded(found)
    if found.final is not None and found.final.name == "error":
        return Verdict(found.code, True, warnings=_doubts(found, "the worker's own error"))
    return Verdict(found.code, False, _unfinished(found))


def never_starts(job_id: int, why: str, reason: str) -> Failure:
    """SLURM has said that the job cannot be placed."""
    told = "SLURM job %d will never start, because %s (%s)" % (job_id, why, reason)
    return Failure("slurm_never_starts", told, "change the backend's keys for sbatch, or its `sbatch_args`")


def expects_record(state: str, detail: Optional[Detail]) -> bool:
    """Whether a job that ended so has most likely left a final record, which storage may show later."""
    if state in ("", "COMPLETED"):
        return True
    code, _, number = (detail.exit if detail else "").partition(":")
    return state == "FAILED" and number in ("", "0") and code in {str(int(one)) for one in Exit}


def _succeeded(found: Evidence) -> Verdict:
    if not found.whole:
        told = "the worker wrote its result, but not the whole of predictions.jsonl"
        return Verdict(None, False, _failure(found, "no_predictions", told, "start the run again"))
    warnings = _doubts(found, "the worker's result is whole")
    if found.lacks is not None:
        warnings += ("SLURM job %d left no whole model file %s" % (found.job_id, found.lacks),)
    return Verdict(int(Exit.FINISHED), True, warnings=warnings)


def _doubts(found: Evidence, instead: str) -> Tuple[str, ...]:
    """Where SLURM or the exit code say otherwise than the worker's final record."""
    failed = found.final is not None and found.final.name == "error"
    agreeing = ("", "COMPLETED", "COMPLETING") if found.code == Exit.FINISHED else ("", "FAILED", "COMPLETING")
    if found.state in agreeing and found.code is not None and (found.code != Exit.FINISHED) == failed:
        return ()
    left = "no exit code" if found.code is None else "exit code %d" % found.code
    return ("SLURM says %s of job %d, which left %s, but %s" % (found.state or "nothing", found.job_id, left, instead),)


_BY_STATE: Dict[str, Tuple[str, str, str]] = {
    "TIMEOUT": ("slurm_time_limit", "it reached its time limit", "raise `time`, or train on fewer items" + KEEP),
    "DEADLINE": ("slurm_deadline", "it passed its deadline", "start the run again, with a later deadline"),
    "NODE_FAIL": ("slurm_node_failed", "its node failed", "start the run again; `exclude` leaves a node out"),
    "BOOT_FAIL": ("slurm_node_failed", "its node could not be booted", "start the run again"),
    "LAUNCH_FAILED": ("slurm_not_launched", "its node could not launch it", "start the run again" + KEEP),
    "PREEMPTED": (
        "slurm_preempted",
        "it was preempted",
        "start the run again, or choose a `partition` or `qos` that is not preempted; `sbatch_args: [--requeue]` "
        "has SLURM start it again by itself",
    ),
    "OUT_OF_MEMORY": (
        "slurm_out_of_memory",
        "it ran out of memory",
        "raise `mem`, or take a smaller batch_size or base model",
    ),
    "CANCELLED": (
        "slurm_cancelled",
        "it was cancelled by an scancel from outside Potato",
        "start the run again; whoever may cancel jobs on this cluster can tell why",
    ),
    "REVOKED": ("slurm_revoked", "another cluster of the federation took it", "start the run again"),
}
_IN_OUTPUT = (
    (re.compile(r"DUE TO TIME LIMIT"), "TIMEOUT"),
    (re.compile(r"DUE TO PREEMPTION"), "PREEMPTED"),
    (re.compile(r"DUE TO NODE FAILURE"), "NODE_FAIL"),
    (re.compile(r"[Ee]xceeded (job |step )?memory limit|oom[-_ ]kill|Out Of Memory|OUT_OF_MEMORY"), "OUT_OF_MEMORY"),
    (re.compile(r"error: \*\*\* JOB \d+ .*CANCELLED"), "CANCELLED"),
)


def _unfinished(found: Evidence) -> Failure:
    """Why there is no final record that counts."""
    if found.failed:
        hint = "set `job_python` to an interpreter that the compute nodes have, or have `prelude` bring it"
        return _failure(found, "job_python_not_found", found.failed, hint)
    if found.detail is not None and found.detail.exit == NO_OUTPUT:
        told = "SLURM could not write slurm.out in %s on %s" % (found.folder, found.detail.nodes or "its node")
        hint = "put `remote_dir` (`--workdir` of an agent) on storage that the compute nodes share"
        return _failure(found, "slurm_output", told, hint)
    never = states.never(found.detail.reason) if found.detail is not None else None
    if found.detail is not None and never is not None:
        return never_starts(found.job_id, never, found.detail.reason)
    known = found.state if found.state in _BY_STATE else _by_output(found)
    if known is not None:
        return _failure(found, *_BY_STATE[known])
    return _by_script(found)


def _by_output(found: Evidence) -> Optional[str]:
    """What SLURM wrote into the job's output when it ended it."""
    lines = [line for line in found.output.splitlines() if line.startswith(("slurm", "srun"))]
    return next((state for line in reversed(lines) for form, state in _IN_OUTPUT if form.search(line)), None)


def _by_script(found: Evidence) -> Failure:
    code, _, number = (found.detail.exit if found.detail else "").partition(":")
    hint = "stderr.log has what it printed last" + KEEP
    if number not in ("", "0"):
        return _failure(found, "slurm_killed", "it was killed by signal %s" % number, hint)
    if found.code == Exit.CANCELLED:
        return _failure(found, "slurm_stopped", "something outside Potato asked it to stop", "start the run again")
    if code not in ("", "0"):
        told = "its script ended with exit code %s%s" % (code, ": " + found.printed if found.printed else "")
        return _failure(found, "slurm_script_failed", told, hint)
    if found.state:
        told = "SLURM says %s, but the worker left no final record in %s" % (found.state, found.folder)
        return _failure(found, "slurm_no_record", told, "is %s the same on the compute nodes?" % found.folder)
    told = "SLURM knows nothing of it any more, and the worker left no final record"
    return _failure(found, "slurm_lost", told, hint)


def _failure(found: Evidence, code: str, told: str, hint: str) -> Failure:
    return Failure(code, ENDED % (found.job_id, told), hint)
