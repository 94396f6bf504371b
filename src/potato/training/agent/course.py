"""One job from the claim to the last byte delivered. Begun again after a crash, it goes on where it was."""

import contextlib
import os
import platform
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Mapping, Optional

from potato.training.agent import keeping
from potato.training.agent.carrier import Carrier
from potato.training.agent.client import Client, Job, Refused
from potato.training.agent.download import BundleNotFetched, Download, Interrupted
from potato.training.agent.folder import JobFolder
from potato.training.agent.keeper import LOST, STOPPED
from potato.training.agent.keeping import Keeping
from potato.training.agent.patience import Contact, Patience, Say, Timing
from potato.training.agent.pulse import Pulse
from potato.training.agent.slurm import code
from potato.training.agent.slurm.settings import SettingsError, SlurmSettings, parse
from potato.training.agent.stop import Stop
from potato.training.agent.transport import Gone, NotStored
from potato.training.agent.unpack import UnsafeArchive
from potato.training.contract.exits import Exit

NAME = "courier"
KILL_S = 15.0
"""A keeper that takes this much longer than the grace to end its worker is ended itself."""


@dataclass(frozen=True)
class Settings:
    """What the person who starts the agent chose."""

    backend: str
    workdir: str
    python: str
    version: str
    once: bool = False
    keep: bool = False
    env: Optional[Mapping[str, str]] = None
    """The worker's environment, over the agent's own; a job that has one already keeps that."""
    slurm: Optional[SlurmSettings] = None
    """How to submit the worker to SLURM; a job may bring its own. None runs it on this machine."""
    server_clears: bool = False
    """Whether the server itself removes the job's folder, so that nothing of it goes here."""
    timing: Timing = field(default_factory=Timing)


class Course:
    """Sees one job through. `clients` makes a client with a connection of its own."""

    def __init__(
        self, job: Job, settings: Settings, clients: Callable[[], Client], contact: Contact, say: Say, stop: Stop
    ) -> None:
        self._job = job
        self._settings = settings
        self._stop = stop
        self._say = say
        self._timing = settings.timing
        self._folder = JobFolder(settings.workdir, job.run_id)
        self._attempt = self._folder.attempt(job.attempt)
        self._client = clients()
        self._patience = Patience(NAME, contact, stop, settings.timing)
        self._pulse = Pulse(clients(), job, self._attempt, contact)
        self._carrier = Carrier(self._client, job, self._attempt, self._patience, stop, settings.timing)
        self._keeping = Keeping(self._folder, self._attempt, settings.timing.poll)

    def run(self) -> None:
        """Work until the server knows all. Raises `Refused` where it wants nothing more of this job, and `Stopped` or
        `Gone` where it could not be told; then the job's folder waits for the next agent."""
        try:
            with self._pulse:
                record = self._ended()
                self._say_end(record)
                self._deliver(record)
        except Refused as refused:
            self._clear_away(refused)
            raise
        except Gone:
            self.lost()
            raise
        finally:
            self._client.close()
        self._folder.close(self._settings.keep)

    def lost(self) -> None:
        """The way to the server is gone. The keeper goes on for as long as the job says, which may be not at all."""
        if not self._job.give_up_s and os.path.isdir(self._attempt.path):
            self._attempt.ask_cancel(LOST)

    def _ended(self) -> Dict[str, Any]:
        """How the attempt ended."""
        try:
            self._prepare()
        except Interrupted as interrupted:
            return self._not_begun(int(Exit.CANCELLED), interrupted.reason)
        except (BundleNotFetched, UnsafeArchive, Refused, SettingsError) as error:
            return self._not_begun(None, str(error))
        except (OSError, NotStored) as error:
            return self._not_begun(None, "the job could not be stored on %s: %s" % (platform.node(), error))
        return self._look_after()

    def _not_begun(self, code: Optional[int], reason: str) -> Dict[str, Any]:
        record = {"exit_code": code, "reason": reason}
        with contextlib.suppress(OSError):  # on a full disk the server is told all the same
            self._attempt.note_end(record)
        return record

    def _prepare(self) -> None:
        """Everything that the keeper needs. What is there already is left as it is."""
        for other in self._folder.attempts():
            if other.number != self._attempt.number and (other.is_going() or other.end() is None):
                keeping.end(other, "a newer attempt begins", self._job.grace_s + KILL_S)
        if self._attempt.end() is not None or self._attempt.is_going():
            return
        self._folder.make(self._order())
        self._attempt.make()
        self._pulse.step = "downloading the bundle"
        Download(self._client, self._job, self._folder, self._patience, self._stop, self._interruption).run()
        self._pulse.step = ""

    def _order(self) -> Mapping[str, Any]:
        settings, earlier = self._settings, self._folder.order() or {}
        return {
            "backend": settings.backend,
            "host": platform.node(),
            "python": settings.python,
            "env": dict(settings.env if settings.env is not None else earlier.get("env") or {}),
            "slurm": self._slurm(),
            "code": code.root(),
            "job": self._job.raw,
        }

    def _slurm(self) -> Optional[Mapping[str, Any]]:
        """Raises `SettingsError`."""
        if self._settings.slurm is not None:
            return self._settings.slurm.as_json()
        brought = self._job.raw.get("slurm")
        return parse(brought).as_json() if brought is not None else None

    def _interruption(self) -> Optional[str]:
        """Why the job is to end, once it is."""
        if self._stop.is_set():
            return STOPPED
        return str(self._pulse.refused) if self._pulse.refused is not None else self._attempt.cancel_reason()

    def _look_after(self) -> Dict[str, Any]:
        """Carry what the worker writes, until it has ended."""
        cancelled = False
        while True:
            reason = self._interruption()
            if reason is not None and not cancelled:
                cancelled = True
                self._say("ending the worker: %s" % reason)
                self._attempt.ask_cancel(reason)
            record = self._keeping.look()
            if record is not None:
                return record
            if self._pulse.gone is not None:
                raise self._pulse.gone
            self._carry()
            if self._stop.is_set():
                time.sleep(self._timing.poll)  # the worker has its grace
            else:
                self._stop.wait(self._timing.poll)

    def _carry(self) -> None:
        if self._pulse.refused is None:
            try:
                self._carrier.carry_growing()
            except Refused as refused:
                self._pulse.refused = refused

    def _say_end(self, record: Mapping[str, Any]) -> None:
        code, reason = record.get("exit_code"), record.get("reason")
        if code == Exit.FINISHED:
            self._say("run %s: the worker has finished" % self._job.run_id)
        elif reason is not None:
            self._say("run %s: %s" % (self._job.run_id, reason))
        else:
            self._say("run %s: the worker failed (exit code %s)" % (self._job.run_id, code))

    def _deliver(self, record: Mapping[str, Any]) -> None:
        whole = dict(record, artifact_uri=self._artifact_uri(), host=platform.node())
        try:
            self._carrier.deliver(whole, files=True)
        except Refused as refused:
            if refused.code != "incomplete":
                raise
            reason = "the files of the run could not be brought over whole"
            self._carrier.deliver(dict(whole, exit_code=None, reason=reason), files=False)

    def _artifact_uri(self) -> Optional[str]:
        path = os.path.join(self._attempt.path, "artifacts")
        return "%s:%s" % (platform.node(), path) if os.path.isdir(path) else None

    def _clear_away(self, refused: Refused) -> None:
        """The server wants nothing more of this job. A model that was finished stays; so does everything where it is
        the token that is refused: with a new one the job can be told of."""
        if refused.status == 401:
            return
        ended = self._attempt.end()
        keep = self._settings.keep or self._settings.server_clears
        if keep or (ended is not None and ended.get("exit_code") == Exit.FINISHED):
            self._folder.close(self._settings.keep)
        else:
            self._folder.remove()
