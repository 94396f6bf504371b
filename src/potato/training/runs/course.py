"""One run from the queue to its end, or from wherever an earlier server process left it."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Connection
from potato.store.training import predictions, retraining
from potato.store.training import runs as rows
from potato.store.training.retraining import Decision
from potato.store.training.runs import Run, State
from potato.tasks import TaskRefused, TaskRunner
from potato.training.backends import Backend, Ended, Execution, StoppedThere
from potato.training.bundle.beside import unfinished
from potato.training.runs import ends
from potato.training.runs.ends import LEAVING, RunCancelled, ServerCloses
from potato.training.runs.folder import RunFolder
from potato.training.runs.jobs import job_of
from potato.training.runs.journal import Journal, notes
from potato.training.runs.limits import Limits
from potato.training.runs.log import RunLog
from potato.training.runs.pulse import Pulse
from potato.training.runs.records import Records
from potato.training.runs.request import UnknownScheme
from potato.training.runs.timing import Timing

_log = logging.getLogger("potato.runs")

_PULLS = 8
"""Pieces of the journal applied between two looks at the worker, so that a flood of events cannot hide a cancel."""


class Course:
    """Sees one run through, in the supervisor's thread. Each stage begins by making sure that what it needs is there,
    and may be begun again after a crash at any instant."""

    def __init__(
        self,
        run: Run,
        project: Project,
        records: Records,
        tasks: TaskRunner,
        backend: Callable[[str], Backend],
        timing: Timing,
        pulse: Pulse,
    ) -> None:
        self._run = run
        self._project = project
        self._settings = project.config.model_training
        self._records = records
        self._tasks = tasks
        self._backend = backend
        self._timing = timing
        self._pulse = pulse
        self._folder = RunFolder.of(project, run.run_id)
        self._log = RunLog(self._folder.log, records.clock)

    def follow(self) -> None:
        """See the run to its end. Raises what is in `LEAVING` where it is taken up again instead."""
        try:
            self._go()
        except LEAVING:
            raise
        except RunCancelled:
            self._end(State.CANCELLED, None)
        except StoppedThere as stopped:
            self._end(State.CANCELLED, ends.as_error(stopped))
        except Exception as error:  # whatever happens, the run ends with its reason and the queue goes on
            if not isinstance(error, PotatoError):
                _log.exception("run %s met an error", self._run.run_id)
            self._end(State.ERROR, ends.as_error(error))

    def _go(self) -> None:
        if self._run.state is not State.RUNNING:  # where a worker may be going, it has to be ended first
            self._still_fits()
        if self._run.state is State.QUEUED and not self._begin():
            return
        self._limits = Limits(self._settings, self._folder, self._run, self._records.clock, self._timing)
        if self._run.state is State.BUILDING:
            self._build()
        if self._run.state is State.RUNNING:
            self._work()
        if self._run.state is State.EVALUATING:
            self._evaluate()

    # The stages

    def _begin(self) -> bool:
        """Leave the queue; false where the run was cancelled at that very instant."""
        self._folder.path.mkdir(parents=True, exist_ok=True)
        try:
            self._move(State.BUILDING, step="building the bundle", started_at=self._records.now())
        except rows.NotAllowed:
            return False
        self._log.say(f"run {self._run.run_id}: {self._run.trainer} on {', '.join(self._run.schemas)}")
        return True

    def _build(self) -> None:
        self._log.say("building the bundle")
        args: dict[str, Any] = {
            "run_id": self._run.run_id,
            "trainer": self._run.trainer,
            "schemas": list(self._run.schemas),
            "folder": str(self._folder.bundle),
        }
        if self._run.curve_of is not None:
            whole = RunFolder.of(self._project, self._run.curve_of).bundle
            args.update(whole=str(whole), share=self._run.train_share)
        built = self._await(self._tasks.run("training.build", args), limited=True)
        for warning in built["warnings"]:
            self._log.say(f"warning: {warning}")
        self._log.say("bundle " + ", ".join(f"{count} {split}" for split, count in built["counts"].items()))
        self._move(
            State.RUNNING,
            step="starting the worker",
            counts=built["counts"],
            digest=built["digest"],
            warnings=built["warnings"],
            labels_upto=built.get("labels_upto", self._run.labels_upto),
            attempt=1,
        )

    def _work(self) -> None:
        execution, resumed = self._execution()
        try:
            with self._none_left_behind(execution):
                journal = Journal(self._records, self._folder, self._run.run_id, self._log)
                ended = self._followed(execution, journal, resumed)
        except LEAVING:
            execution.close()
            raise
        execution.close()
        elsewhere = self._run.host if self._run.host != execution.host else None
        failed = ends.failure(journal.outcome, ended, resumed, elsewhere)
        if failed is not None:
            raise self._with_hint(failed)
        self._limits.look_at_predictions()
        where = self._records.get(self._run.run_id).artifact_uri or str(self._folder.artifacts)
        for warning in ended.warnings:
            self._log.say(f"warning: {warning}")
        warnings = [*self._run.warnings, *ended.warnings]
        self._move(State.EVALUATING, step="taking in the predictions", artifact_uri=where, warnings=warnings)

    def _evaluate(self) -> None:
        journal = Journal(self._records, self._folder, self._run.run_id, self._log)
        args = {
            "run_id": self._run.run_id,
            "schemas": list(self._run.schemas),
            "folder": str(self._folder.path),
            "result": journal.outcome.result,
            "curve_of": self._run.curve_of,
        }
        judged = self._await(self._tasks.run("training.evaluate", args), limited=False)
        for line in judged["lines"]:
            self._log.say(line)
        now = self._records.now()
        self._log.say("the run has finished")

        def finish(connection: Connection) -> Run:
            if rows.get_or_raise(connection, self._run.run_id).cancel_requested_at is not None:
                raise RunCancelled  # at the last instant; nothing of it is shown
            passed = {name: entry["written"] for name, entry in judged["writeback"]["by_scheme"].items()}
            before = predictions.live(connection)
            predictions.set_live(connection, self._run.run_id, judged["live"], now, passed, self._project.schemes)
            for name, sentence in judged["said"].items() if self._run.curve_of is None else ():
                kind = "took_over" if name in judged["live"] else "not_taken_over"
                retraining.log(connection, Decision(now, kind, sentence, self._run.run_id))
            run = self._records.change(
                connection,
                self._run.run_id,
                State.SUCCESS,
                step="",
                finished_at=now,
                scores=judged["scores"],
                writeback=judged["writeback"],
                warnings=[*self._run.warnings, *judged["warnings"], *notes(journal.outcome)],
            )
            replaced = {name: before[name] for name in judged["live"] if name in before}
            self._records.announcer.shown(connection, run, replaced)
            return run

        self._run = self._records.write(self._run.run_id, finish)

    def _still_fits(self) -> None:
        """Raise where the project was changed under a waiting run, so that it cannot go on."""
        for name in self._run.schemas:
            if name not in self._project.schemes:
                raise UnknownScheme(f"the project has no scheme {name!r:.100} any more")

    # The worker

    def _execution(self) -> tuple[Execution, bool]:
        """The run's worker, and whether an earlier server process started it."""
        backend = self._backend(self._run.backend)
        job = job_of(self._run, self._settings, self._folder, self._records, self._log.say)
        execution = backend.resume(job)
        resumed = execution is not None
        if execution is None:
            self._still_fits()
            execution = backend.start(job)
        return execution, resumed

    def _followed(self, execution: Execution, journal: Journal, resumed: bool) -> Ended:
        """How the worker ended. What has to end before that is ended, unless another server looks after it now."""
        try:
            self._take_up(execution, resumed)
            return self._look_after(execution, journal)
        except LEAVING:
            raise
        except (RunCancelled, ends.RunFailed, UnknownScheme) as reason:
            self._stop(execution, journal, reason)
            raise
        except PotatoError:  # the backend has lost it
            self._records.make_sure()
            execution.kill()
            self._pull(journal, everything=True)
            raise

    @contextmanager
    def _none_left_behind(self, execution: Execution) -> Iterator[None]:
        """A fault of the server's own ends the run, and nobody would look after its worker then: that is ended first.
        The fault may lie in the journal, so nothing more is read of it."""
        try:
            yield
        except (*LEAVING, RunCancelled, PotatoError):
            raise
        except Exception:
            self._step("stopping")
            self._await_end(execution, None)
            raise

    def _take_up(self, execution: Execution, resumed: bool) -> None:
        """Begin to look after a worker. Raises `UnknownScheme` where nothing can come of it any more."""
        if resumed:
            self._log.say("the server was started again; following the run")
        if execution.host and not self._run.host:
            self._records.amend(self._run.run_id, host=execution.host)
        self._still_fits()

    def _look_after(self, execution: Execution, journal: Journal) -> Ended:
        lingers: float | None = None
        while True:
            ended = execution.poll()  # before the journal: what it wrote before its end is read below
            self._pull(journal, everything=ended is not None)
            if ended is not None:
                return ended
            if execution.lingers and journal.outcome.result is not None:
                lingers = lingers or time.monotonic() + self._timing.linger
                if time.monotonic() >= lingers:
                    execution.kill()
            self._pause()
            self._limits.look(execution)

    def _pull(self, journal: Journal | None, everything: bool) -> None:
        pulls = 0
        while journal is not None and (everything or pulls < _PULLS) and journal.pull():
            pulls += 1

    def _stop(self, execution: Execution, journal: Journal, reason: Exception) -> None:
        """SIGTERM to the whole group, SIGKILL after `grace_seconds`; what it still says is kept."""
        self._step("stopping")
        self._log.say("cancelled: stopping the worker" if isinstance(reason, RunCancelled) else f"error: {reason}")
        self._await_end(execution, journal)

    def _await_end(self, execution: Execution, journal: Journal | None) -> None:
        execution.stop()
        end = time.monotonic() + self._settings.grace_seconds
        while not self._has_ended(execution):
            self._pull(journal, everything=False)
            if time.monotonic() >= end:
                execution.kill()
                break
            if self._pulse.closing:
                raise ServerCloses
            self._pulse.pause(self._timing.poll)
        self._pull(journal, everything=True)

    def _has_ended(self, execution: Execution) -> bool:
        """Whether a worker that was told to stop is gone; one that was lost meanwhile counts as gone."""
        try:
            return execution.poll() is not None
        except LEAVING:
            raise
        except PotatoError as error:
            self._log.say(error.message)
            execution.kill()
            return True

    # Small things

    def _await(self, future: Future[Any], limited: bool) -> Any:
        """A task's answer, unless the run is to end first; then the task ends too."""
        future.add_done_callback(lambda _: self._pulse.wake())
        try:
            while not future.done():
                self._pause()
                if limited:
                    self._limits.look_at_clock()
        except (RunCancelled, ends.RunFailed):
            self._tasks.abandon(future)
            raise
        if self._pulse.closing:
            raise ServerCloses
        try:
            return future.result()
        except TaskRefused as refused:
            raise ends.leaving_for(refused) or refused from refused

    def _pause(self) -> None:
        """Wait a moment. Raises `ServerCloses` or `RunCancelled` where that is asked for."""
        self._pulse.pause(self._timing.poll)
        if self._pulse.closing:
            raise ServerCloses
        if self._records.get(self._run.run_id).cancel_requested_at is not None:
            raise RunCancelled

    def _move(self, to: State, **fields: Any) -> None:
        self._run = self._records.transition(self._run.run_id, to, **fields)

    def _step(self, text: str) -> None:
        self._records.amend(self._run.run_id, step=text)

    def _with_hint(self, failed: ends.RunFailed) -> ends.RunFailed:
        hint = ends.hint_from_stderr(self._folder.stderr)
        if hint is None:
            return failed
        self._log.say(f"hint: {hint}")
        return ends.RunFailed(failed.error["code"] or "", failed.message, hint)

    def _end(self, state: State, error: dict[str, Any] | None) -> None:
        self._records.make_sure()
        self._log.say(f"the run failed: {error['message']}" if error else "the run was cancelled")
        for left in unfinished(self._folder.bundle):
            shutil.rmtree(left, ignore_errors=True)
        self._move(state, step="", finished_at=self._records.now(), error=error)
