"""A run on a machine that the server logs in to, from the log-in to the last byte home: one thread a run."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from potato.errors import PotatoError
from potato.store.election import OutOfOffice
from potato.training.agent.keeper import LOST, STOPPED
from potato.training.agents.claim import Claim
from potato.training.backends.agent import AgentFailed
from potato.training.backends.attendance import Attendance
from potato.training.backends.base import Ended, Job
from potato.training.backends.greeting import greeting
from potato.training.backends.homecoming import Homecoming
from potato.training.backends.losses import ConnectionLost, Interrupted, LostTooOften
from potato.training.backends.notes import Notes
from potato.training.backends.place import Place, read_place
from potato.training.backends.way import Way
from potato.training.contract.exits import Exit
from potato.training.ssh.agent_log import AgentLog
from potato.training.ssh.code import code
from potato.training.ssh.errors import Disturbed, HostFailed, HostSilent, Lost
from potato.training.ssh.outage import Outage
from potato.training.ssh.session import Session
from potato.training.ssh.text import clean, lines

TAIL_BYTES = 64 << 10

_log = logging.getLogger("potato.runs")


class SshExecution:
    """The supervisor's thread looks, and asks for an end; a thread of this run's own does everything else."""

    lingers = False

    def __init__(self, way: Way, job: Job, packed: Future[Any], max_predictions_mb: int, claim: Claim | None) -> None:
        self.host = way.settings.host
        self._way = way
        self._settings = way.settings
        self._job = job
        self._packed = packed
        self._notes = Notes(job)
        self._agent_log = AgentLog(job.folder / "agent.log")
        self._outage = Outage(self.host, self._settings.reconnect_s, way.timing, self._notes.say)
        self._homecoming = Homecoming(way, job, self._notes, self._outage.heard)
        self._attendance = Attendance(way, job, self._notes, self._agent_log, self._outage, max_predictions_mb, claim)
        self._lock = threading.Lock()
        self._session: Session | None = None
        self._over = threading.Event()
        self._leaving = False
        self._greeted = claim is not None
        self._early_losses = 0
        self._is_clear = False
        self._outcome: Ended | Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"ssh-{job.run_id}", daemon=True)
        self._thread.start()

    # What the supervisor does

    @property
    def delivered(self) -> bool:
        """See `Execution`."""
        return self._attendance.result is not None

    def poll(self) -> Ended | None:
        self._notes.tell()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome

    def memory_mb(self) -> float | None:
        return None

    def stop(self) -> None:
        """The agent is told with its next report; where no agent has the job yet, or any more, it ends at once."""
        if not self._attendance.cancel():
            self.kill()

    def kill(self) -> None:
        """The run is over here. What is left of it there is ended in the background."""
        if self._outcome is None:
            self._interrupt()

    def close(self) -> None:
        """Where the server is going down, the run goes on there, for as long as `reconnect_s`."""
        if self._outcome is None:
            self.leave()

    def leave(self) -> None:
        """Let go at once, whatever is being done."""
        self._leaving = True
        self._interrupt()

    @property
    def is_working(self) -> bool:
        """Whether its thread still has something to do."""
        return self._thread.is_alive()

    def join(self, seconds: float) -> None:
        """Wait for the thread, at most so long."""
        self._thread.join(seconds)

    def _interrupt(self) -> None:
        self._over.set()
        with self._lock:
            session = self._session
        if session is not None:
            session.end()

    # The run's own thread

    def _run(self) -> None:
        try:
            self._see_through()
        except Interrupted:
            self._outcome = Ended(None)
        except PotatoError as error:
            self._outcome = error
        except Exception as error:
            _log.exception("run %s met an error", self._job.run_id)
            self._outcome = error
        if self._attendance.has_begun and not self._is_clear and not self._leaving:
            with contextlib.suppress(OutOfOffice):  # then the run is another server's to end
                self._clear_up()

    def _see_through(self) -> None:
        """Serve one connection after another until the run has ended."""
        while self._outcome is None:
            try:
                with self._connected() as session:
                    if self._attendance.result is None:
                        self._serve(session)
                    self._outcome = self._brought_home(session)
                    self._tidy(session)
            except Lost as lost:
                self._may_go_on(str(lost))

    @contextlib.contextmanager
    def _connected(self, limit_s: float | None = None) -> Iterator[Session]:
        """An open session. Raises `Interrupted` where the run is over, and `Lost`; what a first log-in meets, too."""
        with self._way.new_session(self._agent_log.say, limit_s) as session:
            with self._lock:
                self._session = session
            try:
                self._look()
                self._open(session)
                yield session
            except (Lost, Disturbed) as error:
                self._look()
                if isinstance(error, Lost) or not self._greeted:
                    raise
                raise Lost(error.message) from error  # the next connection may be left in peace
            finally:
                with self._lock:
                    self._session = None

    def _open(self, session: Session) -> None:
        if not self._greeted:
            self._notes.step(f"connecting to {self.host}")
        try:
            self._way.open(session, self._notes)
        except PotatoError as error:
            if not self._greeted:
                raise
            raise Lost(error.message) from error  # it worked before: it may work again
        if not self._greeted:
            self._greet(session)
            self._greeted = True
            self._outage.heard()

    def _greet(self, session: Session) -> None:
        """Meet the host for the first time: whether it can be used, and what people are told of it."""
        for line in greeting(session, session.call("hello")):
            self._notes.say(line)

    def _look(self) -> None:
        """Raise where the run is over here, or another server's: each connection would end the other's."""
        if self._over.is_set():
            raise Interrupted
        self._job.make_sure()

    def _may_go_on(self, reason: str) -> None:
        """Wait a moment before the next try. Raises where there is to be none."""
        if self._outcome is not None:  # all that matters was done
            return
        if self._attendance.result is not None:
            self._outage.limit_s = self._way.timing.copy_silence  # nothing there waits for us any more
        self._outage.failed(reason)
        if not self._attendance.has_begun:
            self._early_losses += 1
        if self._early_losses > self._way.timing.early_losses:
            raise LostTooOften(self.host, self._early_losses, self._outage.reason)
        if self._outage.is_over_limit:
            self._outcome = self._without_connection()
        elif self._over.wait(self._outage.pause()):
            raise Interrupted

    def _without_connection(self) -> Ended:
        """How the run ends when nobody answers there any more."""
        result = self._attendance.result
        if result is None or result.get("exit_code") != Exit.FINISHED:
            raise ConnectionLost(self.host, self._settings.reconnect_s, self._outage.reason)
        self._is_clear = True
        return self._ended(result, self._homecoming.silent(str(result.get("artifact_uri") or "")))

    # What it needs there

    def _serve(self, session: Session) -> None:
        """Have the run worked at there, until the end record is here."""
        place = read_place(self._job.folder) or self._prepare(session)
        packed = self._await_bundle()
        self._notes.step(f"waiting for the agent on {self.host}")
        self._attendance.serve(session, place, packed)

    def _prepare(self, session: Session) -> Place:
        place = self._way.prepare(session, self._job, self._notes)
        self._outage.heard()
        place.write(self._job.folder)
        return place

    def _await_bundle(self) -> Mapping[str, Any]:
        while not self._packed.done():
            if self._over.wait(0.02):
                raise Interrupted
        packed: Mapping[str, Any] = self._packed.result()
        return packed

    # The end

    def _brought_home(self, session: Session) -> Ended:
        """How the run ended, once its model is here and nothing is left there. Raises what it failed of, and `Lost`."""
        result = self._attendance.result
        assert result is not None
        if result.get("exit_code") != Exit.FINISHED:
            with contextlib.suppress(Lost):  # then it is done later, in the background
                self._take_leave(session)
            return self._ended(result, ())
        warnings = self._homecoming.run(session)
        self._is_clear = True
        return self._ended(result, warnings)

    def _ended(self, result: Mapping[str, Any], warnings: Sequence[str]) -> Ended:
        reason, code = result.get("reason"), result.get("exit_code")
        if reason == LOST:
            raise ConnectionLost(self.host, self._settings.reconnect_s, self._outage.reason)
        if reason == STOPPED:
            raise AgentFailed(
                f"The run was stopped on {self.host}, by somebody there",
                hint="the machine may be going down; try again",
            )
        if code is None and reason not in (None, "cancelled"):
            raise AgentFailed(f"The agent on {self._way.name} gave up: {clean(reason, 1000)}")
        told = [clean(warning, 1000) for warning in result.get("warnings") or ()]
        return Ended(code, bool(result.get("ran_out_of_memory")), (*told, *warnings))

    def _take_leave(self, session: Session) -> None:
        """Keep what was said there last, and remove what is left there. Raises `Lost`."""
        try:
            tail = session.call("tail", run_id=self._job.run_id, bytes=TAIL_BYTES)
            self._agent_log.add(lines(tail.get("text", ""), 2000, 1000))
            if not self._settings.keep_remote:
                session.call("remove", run_id=self._job.run_id, keep_artifacts=False)
        except (HostFailed, HostSilent) as error:
            self._notes.say(f"what is left of the run on {self.host} could not be removed yet: {error.message}")
        else:
            self._is_clear = True

    def _tidy(self, session: Session) -> None:
        """Have what earlier runs left there removed. Nothing of this run depends on it."""
        with contextlib.suppress(Lost, HostFailed, HostSilent):
            session.call("tidy", keep_code=code().hash)

    def _clear_up(self) -> None:
        """End and remove what may be left there, in the background: the run itself is over."""
        self._over.clear()
        until = time.monotonic() + self._way.timing.clean_up
        reason, pause = "", self._way.timing.first_pause
        while not self._leaving and time.monotonic() < until:
            try:
                with self._connected(until - time.monotonic()) as session:
                    session.call("end", run_id=self._job.run_id)
                    self._take_leave(session)
                    if self._is_clear:
                        return
            except Interrupted:
                return
            except OutOfOffice:
                raise
            except (Lost, PotatoError) as error:
                reason = str(error)
            self._over.wait(pause)
            pause = min(2 * pause, self._way.timing.longest_pause)
        _log.warning("run %s: what is left on %s could not be ended: %s", self._job.run_id, self.host, reason)
