"""The thread that starts runs by itself. It looks now and then; no save and no page waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from potato.errors import PotatoError
from potato.store import Connection, facts
from potato.store.clock import to_text
from potato.store.training import retraining
from potato.store.training.retraining import Decision
from potato.store.training.runs import Run
from potato.training.retraining.decision import Situation, look, trigger, waits
from potato.training.runs.ends import LEAVING
from potato.training.runs.pulse import Pulse
from potato.training.runs.request import RunRequest
from potato.training.runs.supervisor import Supervisor

_log = logging.getLogger("potato.retraining")


class _NotNow(Exception):
    """Something has come about between the look and the start."""


class Retraining:
    """Looks every `every_s` seconds whether a run is due. What it goes by is in the store alone, so a restart of the
    server changes nothing. `start` it, and `close` it before the supervisor."""

    def __init__(self, supervisor: Supervisor, every_s: float = 2.0) -> None:
        self._supervisor = supervisor
        self._project = supervisor.project
        self._settings = supervisor.project.config.model_training.auto_retrain
        self._records = supervisor.records
        self._every_s = every_s
        self._noted: list[str] | None = None
        self._pulse = Pulse()
        self._thread = threading.Thread(target=self._watch, name="retraining", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._pulse.close()
        self._thread.join()

    def look(self) -> Run | None:
        """Start a run if one is due; the run. What is waited for instead goes into the log when it changes."""
        situation = self._records.read(self._situation)
        found = waits(self._settings, situation)
        if not found:
            return self._start(situation)
        codes = [wait.code for wait in found]
        if codes != self._noted:
            self._noted = codes
            self._write(lambda connection: self._log(connection, "waiting", "; ".join(w.sentence for w in found), None))
        return None

    def _watch(self) -> None:
        while not self._pulse.closing:
            try:
                self.look()
            except LEAVING as error:
                _log.warning("automatic retraining looks again: %s", error)
            except Exception:  # the store failed: say so, and look again
                _log.exception("automatic retraining could not look at what has changed")
            self._pulse.pause(self._every_s)

    def _situation(self, connection: Connection) -> Situation:
        return look(connection, self._project, self._records.clock())

    def _start(self, situation: Situation) -> Run | None:
        why = trigger(self._settings, situation)
        settings = self._settings
        request = RunRequest(settings.trainer, settings.schemas, settings.backend, settings.params, trigger="auto")

        def beside(connection: Connection, run: Run) -> None:
            if waits(settings, self._situation(connection)):
                raise _NotNow
            self._log(connection, "started", f"{why}: run {run.run_id} was started", run.run_id)

        try:
            run = self._supervisor.submit(request, beside)
        except _NotNow:
            return None
        except LEAVING:
            raise
        except PotatoError as error:
            self._refused(error, situation)
            return None
        self._noted = None
        return run

    def _refused(self, error: PotatoError, situation: Situation) -> None:
        """The same labels would be refused again: wait until as many have changed once more."""

        def write(connection: Connection) -> None:
            facts.put(connection, retraining.REFUSAL, {"upto": situation.newest, "reason": error.message})
            self._log(connection, "refused", f"No run was started. {error.message}", None)

        self._noted = None
        self._write(write)

    def _write(self, function: Callable[[Connection], None]) -> None:
        self._records.write("", function)

    def _log(self, connection: Connection, kind: str, sentence: str, run_id: str | None) -> None:
        retraining.log(connection, Decision(to_text(self._records.clock()), kind, sentence, run_id))
