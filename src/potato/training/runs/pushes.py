"""Models that are on their way to the Hugging Face Hub: a thread and a child process each, beside everything else."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Connection, Database
from potato.store.clock import Clock, to_text, utc_now
from potato.store.training import publications
from potato.store.training.publications import Publication
from potato.store.training.runs import Run
from potato.tasks import TaskRunner
from potato.training.publishing.push import Plan, load_run, plan, push
from potato.training.runs.ends import LEAVING
from potato.training.runs.folder import RunFolder
from potato.training.runs.log import RunLog
from potato.training.runs.records import Records

INTERRUPTED = {
    "code": "interrupted",
    "message": "The server stopped while the model was on its way",
    "hint": "publish it again: what is there already is not sent twice",
}

_log = logging.getLogger("potato.runs")


class PushIsGoing(PotatoError):
    """A model of that run is on its way already."""

    code = "push_is_going"
    status = 409

    def __init__(self, run_id: str) -> None:
        super().__init__(f"A model of run {run_id} is on its way to the Hub already", hint="wait until it is there")


class Pushes:
    """The publications that are going. Public methods may be called from any thread but the event loop's."""

    def __init__(self, project: Project, records: Records) -> None:
        self._project = project
        self._records = records
        self._lock = threading.Lock()
        self._going: dict[str, tuple[threading.Thread, TaskRunner]] = {}
        self._closing = False

    def recover(self) -> None:
        """Note what an earlier server process left in the middle as broken off."""

        def fail(connection: Connection) -> list[str]:
            left = publications.going(connection)
            for entry in left:
                publications.fail(connection, entry.id, INTERRUPTED, self._records.now())
            return [entry.run_id for entry in left]

        if self._records.read(publications.going):
            self._records.write("", fail)

    def begin(self, run: Run, repo: str, public: bool, scheme: str | None, started_by: str | None) -> Publication:
        """Send a model of the run to the repository, in the background; its row tells how far it is.

        Raises `PushIsGoing`, and what `publishing.push.plan` does; then nothing is sent.
        """
        planned = plan(self._project, run, repo, public, scheme)
        with self._lock:
            if run.run_id in self._going or self._closing:
                raise PushIsGoing(run.run_id)
            entry = self._records.write(run.run_id, lambda connection: self._note(connection, planned, started_by))
            tasks = TaskRunner(self._project, epoch=self._records.epoch)
            tasks.start()
            thread = threading.Thread(target=self._push, args=(entry, tasks), name=f"push-{run.run_id}")
            self._going[run.run_id] = thread, tasks
            thread.start()
        return entry

    def close(self) -> None:
        """End what is going; it is noted as broken off."""
        with self._lock:
            self._closing = True
            left = list(self._going.values())
        for thread, tasks in left:
            tasks.close()
            thread.join()

    def _note(self, connection: Connection, planned: Plan, started_by: str | None) -> Publication:
        args = (planned.run.run_id, planned.scheme, planned.repo, planned.public, started_by, self._records.now())
        return publications.get(connection, publications.begin(connection, *args))

    def _push(self, entry: Publication, tasks: TaskRunner) -> None:
        log = RunLog(RunFolder.of(self._project, entry.run_id).log, self._records.clock)
        try:
            log.say(f"publishing the model of '{entry.scheme}' to {entry.repo}")
            done = self._done(entry, tasks)
            log.say(f"published at {done['url']}, commit {done['revision']}")
        except PotatoError as error:
            self._fail(entry, INTERRUPTED if self._closing else _as_error(error), log)
        except Exception as error:
            _log.exception("run %s could not be published", entry.run_id)
            self._fail(entry, {"code": "internal", "message": f"The server met an error: {error}", "hint": None}, log)
        finally:
            with self._lock:
                del self._going[entry.run_id]
            self._records.publish(entry.run_id)

    def _done(self, entry: Publication, tasks: TaskRunner) -> dict[str, Any]:
        try:
            names = ("run_id", "scheme", "repo", "public")
            args = {"number": entry.id, **{name: getattr(entry, name) for name in names}}
            answer: dict[str, Any] = tasks.run("training.publish", args).result()
        finally:
            tasks.close()
        return answer

    def _fail(self, entry: Publication, error: dict[str, Any], log: RunLog) -> None:
        log.say(f"the model was not published: {error['message']}")
        now = self._records.now()
        with contextlib.suppress(*LEAVING):  # the server that was elected notes what it finds going as broken off
            self._records.write(entry.run_id, lambda connection: publications.fail(connection, entry.id, error, now))


def push_now(
    project: Project,
    database: Database,
    run_id: str,
    repo: str,
    public: bool,
    scheme: str | None,
    say: Callable[[str], None],
    clock: Clock = utc_now,
) -> Publication:
    """Publish a model in this very process, for the command line; noted as `Pushes` does it. `say` is told each step.

    Raises `UnknownRun`, and the errors of `publishing.errors`.
    """
    planned = plan(project, load_run(database, run_id), repo, public, scheme)
    log = RunLog(RunFolder.of(project, run_id).log, clock)
    with database.write() as connection:
        args = (run_id, planned.scheme, repo, public, "command line", to_text(clock()))
        number = publications.begin(connection, *args)
    try:
        done = push(project, database, number, planned, say, clock)
    except PotatoError as error:
        log.say(f"the model was not published: {error.message}")
        with database.write() as connection:
            publications.fail(connection, number, _as_error(error), to_text(clock()))
        raise
    log.say(f"published at {done.url}, commit {done.revision}")
    return done


def _as_error(error: PotatoError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}
