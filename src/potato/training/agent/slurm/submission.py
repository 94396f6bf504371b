"""Submitting a job once: `sbatch` may fail on its way back while the job exists."""

import platform
import re
from typing import Optional, Tuple

from potato.training.agent.slurm import answers, starts
from potato.training.agent.slurm.answers import JobId
from potato.training.agent.slurm.commands import NoProgram, Said
from potato.training.agent.slurm.journal import Journal
from potato.training.agent.slurm.note import Note
from potato.training.agent.slurm.scheduler import Scheduler
from potato.training.agent.slurm.settings import SlurmSettings
from potato.training.agent.slurm.verdict import Failure

MOST = 4
"""So often a job is submitted that SLURM then knows nothing of."""

_NO_ANSWER = re.compile(
    r"timed out|no answer within|unable to contact|connect|communicat|zero bytes|transmi|temporarily|try again"
    r"|standby|authentication|credential|munge|receive|configuration (file|source)|reset|refused by|busy|backup",
    re.IGNORECASE,
)
_MISCONFIGURED = re.compile(r"configuration (file|source)|s_p_parse_file|ClusterName needs", re.IGNORECASE)


class Submission:
    """Gets a job into SLURM's queue, at most once. `note` stands in `folder`, and is on disk before it is relied on."""

    def __init__(
        self, folder: str, note: Note, scheduler: Scheduler, journal: Journal, settings: SlurmSettings
    ) -> None:
        self._folder = folder
        self._note = note
        self._scheduler = scheduler
        self._journal = journal
        self._settings = settings
        self._said: Optional[Said] = None
        self._refused: Optional[Failure] = None

    def submit(self, script: str, output: str) -> Optional[Failure]:
        """Call `sbatch`. Where its answer is no number, the job may exist all the same: `Note.uncertain`."""
        self._note.boot = self._scheduler.boot_time()
        self._note.tries += 1
        self._note.uncertain = True
        self._note.write(self._folder)
        try:
            said = self._scheduler.submit(script, self._folder, output, self._settings.asked)
        except NoProgram as error:
            return lacks(error.name)
        self._said = said
        job = answers.submitted(said.out) if said.code == 0 else None
        if job is not None:
            self.adopt(job, said.err.strip())
        elif said.code not in (0, None) and not _NO_ANSWER.search(said.err + said.out):
            self._refused = self._refusal(said)
        else:
            self._journal.log("sbatch did not say which job it submitted: %s" % said.words, "warning")
        return None

    def adopt(self, job: JobId, remark: str = "") -> None:
        """That is the run's job."""
        self._note.job_id, self._note.uncertain = job.number, False
        if job.cluster:
            self._note.cluster = self._scheduler.cluster = job.cluster
        self._note.write(self._folder)
        told = "Submitted SLURM job %d%s" % (job.number, " on %s" % job.cluster if job.cluster else "")
        self._journal.status("%s with %s" % (told, " ".join(self._settings.asked) or "no flags"))
        if remark:
            self._journal.log("sbatch says: %s" % remark[:500])

    def not_there(self, gone: bool) -> Tuple[bool, Optional[Failure]]:
        """SLURM answers, and lists no job of this name; `gone` where it has said so for long enough. Whether the job is
        certainly not there, and why it will not be submitted again."""
        first = starts.owner(self._folder)
        if first is not None and self._note.job_id is None:
            self.adopt(JobId(first, self._note.cluster))
            return False, None
        if self._refused is not None:
            return True, self._refused
        if not gone:
            return False, None
        words = self._said.words if self._said is not None else "nothing"
        if (self._said is not None and self._said.code == 0) or self._note.tries >= MOST:
            told = "sbatch answered %r, and no job named %s is in the queue" % (words, self._note.token)
            return True, Failure("sbatch_lost", told, "look what sbatch prints on %s" % platform.node())
        self._note.uncertain = False
        self._note.write(self._folder)
        return True, None

    def misconfigured(self, words: str) -> Optional[Failure]:
        """What `words` mean where nothing of SLURM has ever answered; None where waiting may help."""
        if not _MISCONFIGURED.search(words):
            return None
        told = "SLURM's commands do not work on %s: %s" % (platform.node(), words)
        return Failure("slurm_misconfigured", told, "set SLURM_CONF under the backend's `env`, as a login shell has it")

    def _refusal(self, said: Said) -> Failure:
        flags = " ".join(self._settings.asked) or "none"
        told = "sbatch refused the job: %s (flags: %s)" % (said.words, flags)
        return Failure(
            "sbatch_refused", told, "change the backend's keys for sbatch; the cluster's own docs tell which fit"
        )


def lacks(program: str) -> Failure:
    """A program of SLURM's is not on this machine's `PATH`."""
    told = "%s has no %s on PATH, so it cannot submit jobs" % (platform.node(), program)
    return Failure(
        "no_" + program,
        told,
        "it is no login node, or a login shell alone sets PATH: set PATH under the backend's `env`",
    )
