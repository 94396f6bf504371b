"""When SLURM is asked about a job, and what it amounts to when it does not answer, or does not know the job."""

import time
from typing import Optional

from potato.training.agent.slurm.answers import Answer
from potato.training.agent.slurm.journal import Journal
from potato.training.agent.slurm.scheduler import Scheduler
from potato.training.agent.slurm.settings import Monotonic, SlurmTiming


class Inquiry:
    """Asks every `poll_s`, sooner where something is about to change, and less often where nobody answers.

    "Not there" and "no answer" are counted from one answer that says otherwise to the next.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        journal: Journal,
        poll_s: float,
        timing: SlurmTiming,
        clock: Monotonic = time.monotonic,
    ) -> None:
        self._scheduler = scheduler
        self._journal = journal
        self._poll_s = poll_s
        self._timing = timing
        self._clock = clock
        self._due = 0.0
        self._pause = poll_s
        self._say_at = timing.unsaid
        self._silent_since: Optional[float] = None
        self._missing_since: Optional[float] = None
        self._missed = 0
        self.ever = False
        """Whether SLURM ever answered."""

    def is_due(self) -> bool:
        """Whether it is time to ask."""
        return self._clock() >= self._due

    def hasten(self, delay_s: float = 0.0) -> None:
        """Ask within `delay_s`, unless SLURM does not answer."""
        if self._silent_since is None:
            self._due = min(self._due, self._clock() + delay_s)

    def ask(self, shown: bool) -> Answer:
        """Ask. A long silence becomes the run's step where `shown`, else only a line of its log."""
        answer = self._scheduler.find()
        if answer.jobs is None:
            self._note_silence(answer.words, shown)
        else:
            self._note_answer(bool(answer.jobs))
        self._due = self._clock() + self._pause
        return answer

    def forget(self) -> None:
        """Count anew: another job is asked about."""
        self._missing_since, self._missed = None, 0

    @property
    def silent_s(self) -> float:
        """For how long SLURM has not answered."""
        return 0.0 if self._silent_since is None else self._clock() - self._silent_since

    @property
    def gone(self) -> bool:
        """Whether SLURM has said "not there" often and long enough."""
        if self._missing_since is None or self._missed < self._timing.gone_rounds:
            return False
        return self._clock() - self._missing_since >= self._timing.gone

    def _note_silence(self, words: str, shown: bool) -> None:
        if self._silent_since is None:
            self._silent_since = self._clock()
        self._pause = min(max(self._timing.longest_pause, self._poll_s), self._pause * 1.5)
        if self.silent_s >= self._say_at:
            text = "SLURM has not answered for %s: %s" % (_age(self.silent_s), words)
            if shown:
                self._journal.status(text)
            else:
                self._journal.log(text, "warning")
            self._say_at = 2 * self.silent_s

    def _note_answer(self, there: bool) -> None:
        if self._silent_since is not None and self._say_at > self._timing.unsaid:
            self._journal.log("SLURM answers again after %s" % _age(self.silent_s))
        self.ever, self._silent_since = True, None
        self._pause, self._say_at = self._poll_s, self._timing.unsaid
        if there:
            self.forget()
        else:
            self._missed += 1
            self._missing_since = self._missing_since or self._clock()


def _age(seconds: float) -> str:
    return "%.0f seconds" % seconds if seconds < 120 else "%.0f minutes" % (seconds / 60)
