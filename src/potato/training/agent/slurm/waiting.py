"""A job that waits: said in plain words, and given up where waiting is in vain."""

import time
from typing import Optional

from potato.training.agent.slurm import states
from potato.training.agent.slurm.answers import Listed
from potato.training.agent.slurm.settings import SlurmTiming
from potato.training.agent.slurm.states import Kind
from potato.training.agent.slurm.verdict import Failure

WAITS = (Kind.WAITING, Kind.HELD)


def text(job: Listed) -> str:
    """`SLURM job 4242: PENDING (Priority)`, and whatever else a person should know of it."""
    told = "SLURM job %d: %s" % (job.number, job.text)
    if job.state.kind not in WAITS:
        return told
    never = states.never(job.reason)
    if never is not None:
        return "%s: it will never start, because %s" % (told, never)
    if states.held(job.state, job.reason):
        return "%s: it is held until somebody runs `scontrol release %d`" % (told, job.number)
    return told


class Waiting:
    """How long a job has waited for one reason that does not go away by itself."""

    def __init__(self, timing: SlurmTiming) -> None:
        self._timing = timing
        self._reason = ""
        self._since = 0.0

    def look(self, job: Listed) -> Optional[Failure]:
        """Why the job is to be given up, once it is."""
        never = states.never(job.reason)
        held = states.held(job.state, job.reason)
        reason = job.reason if job.state.kind in WAITS and (never is not None or held) else ""
        if reason != self._reason:
            self._reason, self._since = reason, time.monotonic()
        waited = time.monotonic() - self._since
        if not reason or waited < (self._timing.held if never is None else self._timing.never):
            return None
        if never is not None:
            told = "SLURM job %d will never start, because %s (%s)" % (job.number, never, reason)
            return Failure("slurm_never_starts", told, "change the backend's keys for sbatch, or its `sbatch_args`")
        told = "SLURM job %d is held (%s), and nobody released it for %.0f seconds" % (job.number, reason, waited)
        return Failure(
            "slurm_held", told, "`scontrol release` lets a held job start; an administrator may have to do it"
        )
