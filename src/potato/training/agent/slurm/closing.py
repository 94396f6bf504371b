"""The end of a job: waiting until its files have come, and writing down how it ended."""

import os
import shutil
import time
from typing import Any, Dict, Optional

from potato.training.agent.slurm import starts, verdict
from potato.training.agent.slurm.answers import Detail, Listed
from potato.training.agent.slurm.follower import Follower
from potato.training.agent.slurm.journal import Journal
from potato.training.agent.slurm.note import Note
from potato.training.agent.slurm.scheduler import Scheduler
from potato.training.agent.slurm.settings import Monotonic, SlurmTiming
from potato.training.agent.slurm.verdict import Evidence, Failure
from potato.training.contract.exits import Exit

CANCELLED_S = 5.0
"""Nobody waits for long for the last words of a job that was cancelled."""


class Closing:
    """What is known of the end of the job in `folder`."""

    def __init__(
        self,
        folder: str,
        note: Note,
        scheduler: Scheduler,
        follower: Follower,
        journal: Journal,
        timing: SlurmTiming,
        clock: Monotonic = time.monotonic,
    ) -> None:
        self._folder = folder
        self._note = note
        self._scheduler = scheduler
        self._follower = follower
        self._journal = journal
        self._timing = timing
        self._clock = clock
        self._since: Optional[float] = None
        self._state = ""
        self._detail: Optional[Detail] = None

    @property
    def began(self) -> bool:
        """Whether the job is over, as far as is known."""
        return self._since is not None

    def begin(self, last: Optional[Listed]) -> None:
        """The job is over: SLURM says so, or knows nothing of it (None). Safe to repeat."""
        if self._since is not None and (last is None or last.state.word == self._state):
            return
        self._since = self._since or self._clock()
        self._state = last.state.word if last is not None else ""
        if self._note.job_id is not None:
            self._detail = self._scheduler.detail(self._note.job_id)
        if self._detail is not None and not self._state:
            self._state = self._detail.state.word

    def undo(self) -> None:
        """It is not over after all: SLURM starts it again."""
        self._since, self._state, self._detail = None, "", None

    def has_settled(self, cancelled: bool) -> bool:
        """Whether nothing more is to be expected of its files."""
        follower = self._follower
        never_ran = self._state != "" and not self._ran  # of a job that SLURM does not know that cannot be said
        if follower.is_complete or follower.has_left or never_ran or follower.start.failed():
            return True
        if self._detail is not None and self._detail.exit == verdict.NO_OUTPUT:
            return True
        starts.refresh(self._folder)
        limit = self._timing.settle if verdict.expects_record(self._state, self._detail) else self._timing.settle_killed
        since = max(self._since or 0.0, follower.grown_at)
        return self._clock() - since >= (min(limit, CANCELLED_S) if cancelled else limit)

    def record(self, reason: Optional[str], doom: Optional[Failure], ours: bool) -> Dict[str, Any]:
        """The end record, with everything brought to where the courier looks for it. `reason` is why the keeper ended
        the job, `doom` why it was given up; `ours` tells whether Potato had SLURM end it at all."""
        self._follower.look(at_once=True)
        found = self._evidence(ours)
        judged = verdict.judge(found)
        if judged.keeps_record or (reason is not None and found.code == Exit.CANCELLED):
            self._follower.release()
        self._follower.start.bring_up()
        shutil.rmtree(os.path.join(self._folder, "code"), ignore_errors=True)
        record: Dict[str, Any] = {"exit_code": judged.code, "reason": None, "warnings": list(judged.warnings)}
        if judged.code == Exit.FINISHED:
            return record
        self._keep_output()
        if reason is not None:
            if not self._ran:
                self._journal.log("the job was cancelled before it started")
            return dict(record, exit_code=int(Exit.CANCELLED), reason=reason, warnings=[])
        failure = doom or judged.failure
        if failure is not None:
            self._journal.error(failure.code, failure.message, failure.hint)
        return record

    @property
    def _ran(self) -> bool:
        return self._note.ran or self._follower.start.number > 0

    def _evidence(self, ours: bool) -> Evidence:
        follower, start = self._follower, self._follower.start
        final = follower.final
        return Evidence(
            job_id=self._note.job_id or 0,
            folder=self._folder,
            code=None if follower.has_left and not follower.is_complete else start.exit_code(),
            final=final,
            whole=final is not None and start.has_predictions(final),
            lacks=start.lacks(follower.artifacts),
            failed="" if follower.has_left else start.failed(),
            state="" if ours else self._state,
            detail=self._detail,
            output=starts.tail(self._folder),
            printed=starts.last_line(self._folder, start),
        )

    def _keep_output(self) -> None:
        """What SLURM and the job's script printed belongs to what a person reads of a failed run."""
        text = starts.tail(self._folder)
        if text.strip():
            with open(os.path.join(self._folder, "stderr.log"), "ab") as file:
                file.write(b"\nslurm.out:\n" + text.encode("utf-8"))
