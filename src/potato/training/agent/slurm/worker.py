"""A worker that is a SLURM job: see `Worker` in `potato.training.agent.workers`."""

import os
import time
from dataclasses import replace
from typing import Any, Dict, Mapping, Optional, Tuple

from potato.training.agent.folder import Attempt, JobFolder
from potato.training.agent.slurm import code, commands, note, starts, waiting
from potato.training.agent.slurm.answers import JobId, Listed
from potato.training.agent.slurm.closing import Closing
from potato.training.agent.slurm.commands import NoProgram
from potato.training.agent.slurm.ending import Ending
from potato.training.agent.slurm.follower import Follower
from potato.training.agent.slurm.inquiry import Inquiry
from potato.training.agent.slurm.journal import Journal
from potato.training.agent.slurm.note import Note
from potato.training.agent.slurm.scheduler import Scheduler
from potato.training.agent.slurm.script import script
from potato.training.agent.slurm.settings import Monotonic, SlurmSettings
from potato.training.agent.slurm.states import Kind
from potato.training.agent.slurm.submission import MOST, Submission, lacks
from potato.training.agent.slurm.verdict import Failure
from potato.training.agent.slurm.waiting import Waiting
from potato.training.contract.spec import Spec

LAG_S = 120.0
"""So much later than on one machine a node may see that the lease was renewed."""
SURE_S = 2.0
"""SLURM may still call a job that has just started pending."""


class SlurmWorker:
    """One attempt's job, from `sbatch` to its end. SLURM may start it several times.

    Only a state that SLURM names moves a run; that it does not answer is never the end of a job.
    """

    def __init__(
        self,
        folder: JobFolder,
        attempt: Attempt,
        spec: Spec,
        python: str,
        env: Mapping[str, str],
        settings: SlurmSettings,
        clock: Monotonic = time.monotonic,
    ) -> None:
        self._workdir = folder.workdir
        self._path = attempt.path
        self._spec = spec
        self._settings = settings
        self._timing = settings.timing
        self._clock = clock
        self._python = settings.job_python or python
        self._env = commands.environment(env, code.root())
        self._last: Optional[Listed] = None
        self._doom: Optional[Failure] = None
        self._over = False
        self._seen = (0, False)

    # What a keeper does with it

    def find(self) -> bool:
        """See `Worker.find`."""
        found = note.recall(self._path)
        if found is not None:
            self._open(found)
        return found is not None

    def start(self) -> None:
        """See `Worker.start`. The first `goes_on` submits the job."""
        root = code.shared(self._workdir, os.path.join(self._path, "code"))
        patient = self._spec.lease_s and self._spec.lease_s + LAG_S
        replace(self._spec, lease_s=patient).write(os.path.join(self._path, "spec.json"))
        hidden = not self._settings.asks_for_gpus
        text = script(self._path, self._spec.run_id, root, self._python, self._settings.prelude, hidden)
        with open(self._script, "w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.write(text)
        made = note.new(self._spec.run_id)
        made.write(self._path)
        self._open(made)

    def goes_on(self) -> bool:
        """See `Worker.goes_on`."""
        self._follower.look()
        self._hasten()
        if self._closing.began and self._closing.has_settled(cancelled=self._ending.asked):
            self._over = True
        elif self._inquiry.is_due():
            try:
                self._step()
            except NoProgram as error:
                self._give_up(lacks(error.name))
        return not self._over

    def stop(self) -> None:
        """See `Worker.stop`."""
        self._ending.asked = True
        self._inquiry.hasten()

    def kill(self) -> None:
        """See `Worker.kill`. SLURM takes its time; `goes_on` tells when the job is gone."""
        self._ending.hard = True
        self.stop()

    def record(self, reason: Optional[str]) -> Dict[str, Any]:
        """See `Worker.record`."""
        return self._closing.record(reason, self._doom, ours=self._ending.asked)

    # One look at a time

    @property
    def _script(self) -> str:
        return os.path.join(self._path, "job.sh")

    def _open(self, found: Note) -> None:
        path, timing, clock = self._path, self._timing, self._clock
        self._note = found
        self._journal = Journal(os.path.join(path, "events.jsonl"))
        self._follower = Follower(path, self._journal, timing.follow, clock)
        cluster = found.cluster or self._settings.clusters
        self._scheduler = Scheduler(found.token, self._env, timing, self._follower.look, cluster)
        self._inquiry = Inquiry(self._scheduler, self._journal, self._settings.poll_interval_s, timing, clock)
        self._submission = Submission(path, found, self._scheduler, self._journal, self._settings)
        self._ending = Ending(self._scheduler)
        self._waiting = Waiting(timing, clock)
        self._closing = Closing(path, found, self._scheduler, self._follower, self._journal, timing, clock)

    def _hasten(self) -> None:
        """The files tell first that the job began or is done."""
        seen = (self._follower.start.number, self._follower.is_complete)
        if seen != self._seen:
            self._seen = seen
            self._inquiry.hasten(self._timing.soon if self._follower.is_complete else 0.0)

    def _step(self) -> None:
        if self._note.job_id is None and not self._note.uncertain:
            if self._follower.has_succeeded:
                self._closing.begin(None)
            else:
                self._submit()
            return
        started = self._follower.start.number
        answer = self._inquiry.ask(shown=not self._follower.speaks)
        if answer.jobs is None:
            self._unanswered(answer.words)
        elif answer.jobs:
            self._listed(self._ours(answer.jobs), started)
        elif self._note.job_id is None:
            self._never_listed()
        else:
            self._missing()

    def _submit(self) -> None:
        if self._ending.asked:
            self._over = True
            return
        failure = self._submission.submit(self._script, os.path.join(self._path, starts.OUTPUT))
        if failure is not None:
            self._give_up(failure)

    def _ours(self, jobs: Tuple[Listed, ...]) -> Listed:
        """The run's job, of all that have its name; a second one is ended."""
        going = [job for job in jobs if job.state.kind is not Kind.ENDED]
        wanted = (self._note.job_id, starts.owner(self._path))
        ours = next((job for number in wanted for job in jobs if job.number == number), (going or list(jobs))[0])
        for job in going:
            if job.number != ours.number:
                self._journal.log("SLURM has a second job of this run, %d; it is cancelled" % job.number, "warning")
                self._scheduler.end(job.number, politely=False)
        if ours.number != self._note.job_id:
            self._submission.adopt(JobId(ours.number, self._note.cluster))
        return ours

    def _listed(self, job: Listed, started: int) -> None:
        kind = job.state.kind
        self._say(job)
        self._last = job
        if (kind in (Kind.RUNNING, Kind.ENDING) or (kind is Kind.ENDED and job.nodes)) and not self._note.ran:
            self._note.ran = True
            self._note.write(self._path)
        if kind in waiting.WAITS:
            self._look_for_requeue(started)
        if kind is Kind.ENDED or (kind is Kind.ENDING and self._lingers):
            self._closing.begin(job)
        else:
            self._closing.undo()
            self._doom = self._doom or self._waiting.look(job)
            self._end_or_wait(job)

    def _end_or_wait(self, job: Listed) -> None:
        if self._doom is not None:
            self._ending.asked = self._ending.hard = True
        if self._lingers or (self._follower.has_succeeded and job.state.kind in waiting.WAITS):
            self._ending.asked = self._ending.hard = True  # it has done its work, and SLURM does not let go of it
        if self._ending.asked:
            self._ending.order(job.number, job, self._follower.start.number)
        if self._ending.asked or self._follower.is_complete:
            self._inquiry.hasten(self._timing.soon)

    @property
    def _lingers(self) -> bool:
        """Whether the worker has long done its work."""
        quiet = self._clock() - self._follower.grown_at
        return self._follower.has_succeeded and quiet > self._timing.finished

    def _say(self, job: Listed) -> None:
        """Each change of its state goes into the run's log, and into its step while the worker itself says nothing."""
        last, kind = self._last, job.state.kind
        if kind is Kind.UNKNOWN and (last is None or last.state != job.state):
            told = "SLURM's word %s is not known here; job %d is taken to go on" % (job.state.word, job.number)
            self._journal.log(told, "warning")
        if last is not None and (last.number, last.text) == (job.number, job.text):
            return
        if self._follower.speaks and kind not in waiting.WAITS:
            self._journal.log(waiting.text(job))
        else:
            self._journal.status(waiting.text(job))

    def _look_for_requeue(self, started: int) -> None:
        """A job that waits, and was started before that was asked: SLURM will start it again."""
        follower = self._follower
        if not started or started != follower.start.number or follower.has_left or follower.has_succeeded:
            return
        if self._clock() - follower.begun_at < SURE_S:
            self._inquiry.hasten(self._timing.soon)
            return
        follower.leave()
        self._journal.requeued(started + 1)

    def _missing(self) -> None:
        """SLURM does not list the job any more."""
        follower = self._follower
        if follower.is_complete:
            self._inquiry.hasten(self._timing.soon)
        quiet = follower.is_complete or self._clock() - follower.grown_at >= self._timing.gone
        if not self._inquiry.gone or not quiet:
            return
        forgotten = not follower.is_complete and not self._closing.began and not self._ending.asked
        if forgotten and self._is_forgotten():
            self._submit_again()
        else:
            self._closing.begin(None)

    def _is_forgotten(self) -> bool:
        """Whether the controller was started since, and so knows nothing of a job that did not end."""
        if self._note.tries >= MOST:
            return False
        boot = self._scheduler.boot_time()
        if boot and self._note.boot:
            return boot != self._note.boot
        return not self._note.ran and not self._follower.start.number

    def _submit_again(self) -> None:
        self._journal.log("SLURM has forgotten job %d; it is submitted again" % (self._note.job_id or 0), "warning")
        self._follower.leave()
        starts.disown(self._path)
        self._note.job_id, self._note.ran, self._last = None, False, None
        self._note.write(self._path)
        self._inquiry.forget()
        self._inquiry.hasten()

    def _never_listed(self) -> None:
        """Nobody knows whether the job exists, and SLURM lists none."""
        certain, failure = self._submission.not_there(self._inquiry.gone)
        if failure is not None:
            self._give_up(failure)
        elif certain:
            self._inquiry.forget()
            self._inquiry.hasten()

    def _unanswered(self, words: str) -> None:
        silent = self._inquiry.silent_s
        if self._note.job_id is None and not self._inquiry.ever and silent >= self._timing.misconfigured:
            failure = self._submission.misconfigured(words)
            if failure is not None:
                self._give_up(failure)
                return
        if self._ending.asked:
            self._ending.order(self._note.job_id, self._last, self._follower.start.number)

    def _give_up(self, failure: Failure) -> None:
        self._doom, self._over = failure, True
