"""A job that waits: said in plain words, and given up where waiting is in vain."""

import time
from typing import Optional

from potato.training.agent.slurm import states
from potato.training.agent.slurm.answers import Listed
from potato.training.agent.slurm.settings import Monotonic, SlurmTiming
from potato.training.agent.slurm.states import Kind
from potato.training.agent.slurm.verdict import Failure, never_starts

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
    """How long a job has waited for what does not come by itself."""

    def __init__(self, timing: SlurmTiming, clock: Monotonic = time.monotonic) -> None:
        self._timing = timing
        self._clock = clock
        self._vain = ""
        self._since = 0.0

    def look(self, job: Listed) -> Optional[Failure]:
        """Why the job is to be given up, once it is."""
        never = states.never(job.reason) if job.state.kind in WAITS else None
        held = job.state.kind in WAITS and states.held(job.state, job.reason)
        vain = "never" if never is not None else "held" if held else ""
        if vain != self._vain:
            self._vain, self._since = vain, self._clock()
        waited = self._clock() - self._since
        if never is not None and waited >= self._timing.never:
            return never_starts(job.number, never, job.reason)
        if not held or waited < self._timing.held:
            return None
        told = "SLURM job %d is held (%s), and nobody released it for %.0f seconds" % (job.number, job.reason, waited)
        return Failure("slurm_held", told, "`scontrol release` lets it start, if need be an administrator's")
