"""A model whose way home broke off is copied again, while its files are still there."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.store.training.runs import Run, State
from potato.training.backends import Backend
from potato.training.runs.ends import LEAVING
from potato.training.runs.folder import RunFolder
from potato.training.runs.jobs import job_of
from potato.training.runs.log import RunLog
from potato.training.runs.records import Records

POLL_S = 0.2

_log = logging.getLogger("potato.runs")


class NothingToCopy(PotatoError):
    """The run's model did not stay anywhere against anybody's will."""

    code = "nothing_to_copy"
    status = 409

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run {run_id} left no model elsewhere that could be copied again",
            hint="a model is copied again where the first copy broke off, until the run's files are removed",
        )


class CopyIsGoing(PotatoError):
    """The model is being copied already."""

    code = "copy_is_going"
    status = 409

    def __init__(self, run_id: str) -> None:
        super().__init__(f"The model of run {run_id} is being copied already")


class Copies:
    """The copies that are going: a thread each. Public methods may be called from any thread."""

    def __init__(self, project: Project, records: Records, backend: Callable[[str], Backend]) -> None:
        self._project = project
        self._records = records
        self._backend = backend
        self._lock = threading.Lock()
        self._going: dict[str, threading.Thread] = {}
        self._closing = threading.Event()

    def begin(self, run_id: str) -> Run:
        """Copy the model of a run again, in the background; the run's step tells how far it is.

        Raises `UnknownRun`, `NothingToCopy`, `CopyIsGoing`, and what opening its backend does.
        """
        run = self._records.get(run_id)
        folder = RunFolder.of(self._project, run_id)
        if run.state is not State.SUCCESS or not folder.copy_note.exists():
            raise NothingToCopy(run_id)
        backend = self._backend(run.backend)
        with self._lock:
            if run_id in self._going or self._closing.is_set():
                raise CopyIsGoing(run_id)
            thread = threading.Thread(target=self._copy, args=(run, folder, backend), name=f"copy-{run_id}")
            self._going[run_id] = thread
            self._records.amend(run_id, step="copying the model again")
            thread.start()
        return self._records.get(run_id)

    def close(self) -> None:
        """Leave the copies that are going; each goes on where it was when it is begun again."""
        self._closing.set()
        with self._lock:
            threads = list(self._going.values())
        for thread in threads:
            thread.join()

    def _copy(self, run: Run, folder: RunFolder, backend: Backend) -> None:
        log = RunLog(folder.log, self._records.clock)
        try:
            self._see_through(run, folder, backend, log)
        except LEAVING as error:
            _log.warning("run %s: the copy of its model was left: %s", run.run_id, error)
        except PotatoError as error:
            log.say(f"the model could not be copied: {error.message}")
        except Exception:
            _log.exception("the model of run %s could not be copied", run.run_id)
        finally:
            with self._lock:
                del self._going[run.run_id]
            with contextlib.suppress(*LEAVING):  # then the row is another's to write
                self._records.amend(run.run_id, step="")

    def _see_through(self, run: Run, folder: RunFolder, backend: Backend, log: RunLog) -> None:
        log.say("copying the model again")
        before = _warnings(folder)
        told: dict[str, Any] = {}
        job = job_of(run, self._project.config.model_training, folder, self._records, log.say)
        job = replace(job, amend=told.update)  # the row keeps what it says until the end is known
        execution = backend.resume(job)  # the worker has ended, so all that is left to do is the way home
        if execution is None:
            raise NothingToCopy(run.run_id)
        while (ended := execution.poll()) is None:
            if self._closing.wait(POLL_S):
                execution.close()
                return
        for warning in ended.warnings:
            log.say(f"warning: {warning}")
        kept = [warning for warning in run.warnings if warning not in before]
        if not ended.warnings:
            log.say("the model is here")
        self._records.amend(
            run.run_id,
            warnings=[*kept, *ended.warnings],
            artifact_uri=told.get("artifact_uri") or str(folder.artifacts),
        )


def _warnings(folder: RunFolder) -> Sequence[str]:
    """What people were told when the copy broke off."""
    told: Sequence[str] = json.loads(folder.copy_note.read_text("utf-8"))["warnings"]
    return told
