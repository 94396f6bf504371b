"""The supervisor: takes requests for runs, and sees them through one at a time, in order."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.project.backends import AgentBackend as AgentSettings
from potato.store import Connection
from potato.store.databases.unreachable import StoreUnreachable
from potato.store.election import OutOfOffice
from potato.store.training import predictions
from potato.store.training import runs as rows
from potato.store.training.publications import Publication
from potato.store.training.runs import FINISHED, GOING, Run, State
from potato.tasks import TaskRunner
from potato.training.agents.desk import Desk
from potato.training.backends import Backend, BackendInfo, CheckReport, Job, describe, open_backend
from potato.training.bundle.preflight import preflight
from potato.training.runs import ends
from potato.training.runs.copies import Copies
from potato.training.runs.course import Course
from potato.training.runs.curve import points_to_run
from potato.training.runs.ends import ServerCloses
from potato.training.runs.folder import RunFolder
from potato.training.runs.pulse import Pulse
from potato.training.runs.pushes import Pushes
from potato.training.runs.records import Records
from potato.training.runs.request import Order, RunRequest, resolve
from potato.training.runs.showing import show
from potato.training.runs.timing import Timing
from potato.training.runs.waiting import WaitForAgents
from potato.training.webhooks.hooks import hook_of
from potato.training.webhooks.post import Post

_log = logging.getLogger("potato.runs")


class RunIsOver(PotatoError):
    """The run has ended already; there is nothing to cancel."""

    code = "run_is_over"
    status = 409


@dataclass(frozen=True)
class Status:
    """What the supervisor is at: the run that is going, and those that wait, the next one first."""

    going: Run | None
    queued: Sequence[Run]

    def as_json(self) -> dict[str, Any]:
        """The status in the API's shape."""
        return {
            "going": self.going.run_id if self.going else None,
            "step": self.going.step if self.going else "",
            "queued": [run.run_id for run in self.queued],
        }


class Supervisor:
    """One thread that sees runs through. The public methods may be called from any thread but the event loop's:
    they wait for the disk. `start` takes up what an earlier server process left; `close` lets a going worker go on,
    to be followed again by the next server process.
    """

    def __init__(
        self,
        project: Project,
        records: Records,
        tasks: TaskRunner,
        timing: Timing,
        backends: Mapping[str, Backend] | None = None,
        new_suffix: Callable[[], str] = lambda: secrets.token_hex(3),
        post: Post | None = None,
    ) -> None:
        self.project = project
        self.records = records
        self._tasks = tasks
        self._timing = timing
        self._backends: dict[str, Backend] = dict(backends or {})
        self._backends_lock = threading.Lock()
        self._new_suffix = new_suffix
        self._pulse = Pulse()
        self.desk = Desk(on_change=lambda backend: records.notifier.publish(f"backend:{backend}"))
        self._waiting = WaitForAgents(project, self.desk, records)
        self._copies = Copies(project, records, self.backend)
        self._pushes = Pushes(project, records)
        self._post = post
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    def start(self) -> None:
        """Begin to see runs through."""
        self._pushes.recover()
        if self._post is not None:
            self._post.start()
        self._thread.start()

    def close(self) -> None:
        """Stop looking after runs; a worker that is going goes on."""
        self._pulse.close()
        self._thread.join()
        self._copies.close()
        self._pushes.close()
        if self._post is not None:
            self._post.close()
        for backend in self._backends.values():
            backend.close()

    # Requests

    def submit(self, request: RunRequest, beside: Callable[[Connection, Run], None] | None = None) -> Run:
        """Queue a run; `beside` as in `Records.add`.

        Raises `UnknownTrainer`, `UnknownScheme`, `BadParam`, `TrainerDoesNotFit`, `UnknownBackend` or
        `NotEnoughLabels`; then nothing is started.
        """
        order = self._order(request)
        if request.curve_of is None:
            self.records.read(lambda connection: preflight(connection, self.project, order.info, order.schemas))
        new = self._new_run(request, order)
        run = self.records.add(new, beside)
        self._pulse.wake()
        return run

    def cancel(self, run_id: str) -> Run:
        """Cancel a run: at once where it is queued; else its worker is stopped, and it ends `cancelled` within
        `grace_seconds`. Repeating it is harmless. Raises `UnknownRun`, or `RunIsOver` where it has ended otherwise."""
        run = self.records.write(run_id, lambda connection: self._request_cancel(connection, run_id))
        self._pulse.wake()
        return run

    def submit_curve(self, run_id: str, trigger: str, started_by: str | None) -> Sequence[Run]:
        """Queue the points of a run's learning curve that are not there yet: all or none of them, and each once however
        many ask at the same time. Raises `UnknownRun`, `NoCurve`, and what `submit` raises."""
        points = [
            self._new_run(request, self._order(request))
            for wanted in self.records.read(lambda connection: points_to_run(connection, self.project, run_id))
            for request in [replace(wanted, trigger=trigger, started_by=started_by)]
        ]

        def add(connection: Connection) -> Sequence[Run]:
            missing = {wanted.train_share for wanted in points_to_run(connection, self.project, run_id)}
            return [self.records.insert(connection, point) for point in points if point.train_share in missing]

        added = self.records.write(run_id, add)
        self._pulse.wake()
        return added

    def withdraw(self, run_id: str) -> int:
        """Take the run's pre-labels away from annotators; how many were shown. Repeating it is harmless.
        Raises `UnknownRun`."""

        def withdraw(connection: Connection) -> int:
            run = rows.get_or_raise(connection, run_id)
            shown = predictions.withdraw(connection, run_id)
            if run.live:
                self.records.announcer.withdrawn(connection, run, run.live, shown)
            return shown

        return self.records.write(run_id, withdraw)

    def show(self, run_id: str, by: str) -> Run:
        """Have annotators see the run's suggestions, although its score was refused, or again after another's. Raises
        `UnknownRun` and `NothingToShow`."""

        def write(connection: Connection) -> Run:
            before = predictions.live(connection)
            run = show(connection, self.project, run_id, by, self.records.now())
            replaced = {name: before[name] for name in run.live if before.get(name, run_id) != run_id}
            if set(run.live) - {name for name, shown in before.items() if shown == run_id}:
                self.records.announcer.shown(connection, run, replaced)
            return run

        shown = self.records.write(run_id, write)
        self._tidy()  # and items are handed out by what it is unsure of
        return shown

    def try_webhook(self, number: int) -> str:
        """Send a test event to the project's webhook of that number; the delivery's id. Raises `UnknownWebhook`."""
        hook = hook_of(self.project, number)
        return self.records.write("", lambda connection: self.records.announcer.test(connection, hook), listed=False)

    def copy_again(self, run_id: str) -> Run:
        """Copy a model home whose copy broke off, in the background. Raises `UnknownRun`, `NothingToCopy`,
        `CopyIsGoing`, `UnknownBackend`."""
        return self._copies.begin(run_id)

    def publish(self, run_id: str, repo: str, public: bool, scheme: str | None, started_by: str | None) -> Publication:
        """Send a run's model to a repository on the Hub, in the background. Raises `UnknownRun`, and what
        `Pushes.begin` does."""
        return self._pushes.begin(self.records.get(run_id), repo, public, scheme, started_by)

    def check(self, backend: str, trainer: str | None = None) -> CheckReport:
        """Could a run start there now? Takes seconds. Raises `UnknownBackend`."""
        return self.backend(backend).check(trainer)

    def wake(self) -> None:
        """Something came for a run, or an agent waits: have the supervisor look now."""
        self._pulse.wake()

    # What there is

    def get(self, run_id: str) -> Run:
        """The run. Raises `UnknownRun`."""
        return self.records.get(run_id)

    def list(self, limit: int = 50, before: str | None = None) -> Sequence[Run]:
        """Up to `limit` runs, newest first; those older than the run `before` where it is given."""
        return self.records.read(lambda connection: rows.page(connection, limit, before))

    def status(self) -> Status:
        """What is going, and what waits."""

        def look(connection: Connection) -> Status:
            going = rows.in_states(connection, GOING)
            return Status(going[0] if going else None, rows.queue(connection))

        return self.records.read(look)

    def backends(self) -> Sequence[BackendInfo]:
        """The menu Runs on."""
        return describe(self.project)

    def folder(self, run_id: str) -> RunFolder:
        """Where the run's files are. Raises `UnknownRun`."""
        return RunFolder.of(self.project, self.records.get(run_id).run_id)

    def backend(self, name: str) -> Backend:
        """The backend of that name, opened once. Raises `UnknownBackend`."""
        with self._backends_lock:
            if name not in self._backends:
                self._backends[name] = open_backend(self.project, name, self.desk, self._pack, self._timing.ssh)
            return self._backends[name]

    def agent_backends(self) -> Mapping[str, AgentSettings]:
        """The project's `agent` backends."""
        found = self.project.config.model_training.backends.items()
        return {name: settings for name, settings in found if isinstance(settings, AgentSettings)}

    # The thread

    def _order(self, request: RunRequest) -> Order:
        order = resolve(self.project, request)
        self.backend(order.backend)
        return order

    def _new_run(self, request: RunRequest, order: Order) -> Run:
        now = self.records.clock()
        return Run(
            run_id=f"{now:%Y%m%dT%H%M%S}-{self._new_suffix()}",
            state=State.QUEUED,
            step=f"waiting for the agent on {order.backend}"
            if order.backend_type == "agent"
            else "waiting in the queue",
            trainer=order.info.name,
            schemas=order.schemas,
            params=order.params,
            trigger=request.trigger,
            started_by=request.started_by,
            backend=order.backend,
            backend_type=order.backend_type,
            created_at=self.records.now(),
            train_share=request.train_share,
            curve_of=request.curve_of,
        )

    def _request_cancel(self, connection: Connection, run_id: str) -> Run:
        run = rows.get_or_raise(connection, run_id)
        if run.state is State.CANCELLED or (run.cancel_requested_at and run.state not in FINISHED):
            return run
        if run.state in FINISHED:
            raise RunIsOver(f"Run {run_id} is over already: {run.state.value}")
        now = self.records.now()
        if run.state is State.QUEUED:
            return self.records.change(
                connection, run_id, State.CANCELLED, step="", cancel_requested_at=now, finished_at=now
            )
        rows.amend(connection, run_id, cancel_requested_at=now, step="stopping")
        return rows.get_or_raise(connection, run_id)

    def _watch(self) -> None:
        self._tidy()
        while not self._pulse.closing:
            try:
                run = self.records.read(self._next)
                if run is None:
                    self._wait()
                else:
                    self._waiting.stop()
                    self._see_through(run)
            except (ServerCloses, OutOfOffice):
                return
            except StoreUnreachable as error:
                _log.warning("the supervisor looks again: %s", error)
                self._pulse.pause(self._timing.limits)
            except Exception:  # the store failed: say so, and try again rather than leave the queue without anyone
                _log.exception("the supervisor could not go on with the queue")
                self._pulse.pause(self._timing.limits)

    def _see_through(self, run: Run) -> None:
        Course(run, self.project, self.records, self._tasks, self.backend, self._timing, self._pulse).follow()
        self._tidy()

    def _tidy(self) -> None:
        """Have leftovers and the files of old runs removed, in the child process."""
        self._tasks.run("training.tidy", {}).add_done_callback(self._report)

    def _report(self, future: Future[Any]) -> None:
        if not self._pulse.closing and not future.cancelled() and future.exception() is not None:
            _log.warning("old runs could not be tidied up: %s", future.exception())

    def _next(self, connection: Connection) -> Run | None:
        """The run that is going; else the first of the queue that can go: one for an agent goes once one asks."""
        going = rows.in_states(connection, GOING)
        if going:
            return going[0]
        return next((run for run in rows.queue(connection) if self._waiting.is_ready(run)), None)

    def _wait(self) -> None:
        """Nothing can go now. Runs that have waited for an agent too long end."""
        queued = self.records.read(rows.queue)
        for run, error in self._waiting.too_long(queued):
            with contextlib.suppress(rows.NotAllowed):  # cancelled at that very instant
                self.records.transition(
                    run.run_id, State.ERROR, step="", finished_at=self.records.now(), error=ends.as_error(error)
                )
        self._pulse.pause(self._timing.limits if queued else None)

    def _pack(self, job: Job) -> Future[Any]:
        """Have a job's bundle packed for the way, in the child process."""
        folder = RunFolder(job.folder)
        return self._tasks.run("agents.pack", {"bundle": str(folder.bundle), "archive": str(folder.archive)})


__all__ = ["RunIsOver", "RunRequest", "Status", "Supervisor"]
