"""The agent's life: claim a job, see it through, claim the next."""

import contextlib
import os
import platform
import random
import time
from enum import IntEnum
from typing import Any, Callable, Dict

from potato.training.agent.client import Claim, Client, Job, NotUnderstood, Refused, read_job
from potato.training.agent.course import Course, Settings
from potato.training.agent.folder import unfinished
from potato.training.agent.keeper import STOPPED
from potato.training.agent.patience import Contact, Patience, Say
from potato.training.agent.stop import Stop, Stopped
from potato.training.agent.transport import Unreachable, Unusable
from potato.training.contract.exits import Exit


class Leave(IntEnum):
    """The agent's exit codes: what a supervisor of it should do."""

    DONE = 0
    RETRY = 1
    USAGE = 2
    TOKEN_REFUSED = 3
    BACKEND_HELD = 4
    NOT_UNDERSTOOD = 5


class Agent:
    """Works for one backend until it is stopped. `clients` makes a client with a connection of its own."""

    def __init__(self, settings: Settings, clients: Callable[[], Client], say: Say, stop: Stop) -> None:
        self._settings = settings
        self._clients = clients
        self._say = say
        self._stop = stop
        self._client = clients()
        self._contact = Contact(say, settings.timing)
        self._patience = Patience("claim", self._contact, stop, settings.timing)
        self._session = os.urandom(8).hex()

    def run(self) -> int:
        """Work; the exit code."""
        try:
            with contextlib.suppress(Stopped):
                self._work()
            self._take_leave()
        except Refused as refused:
            return self._refused(refused)
        except Unusable as error:
            self._say(str(error))
            return Leave.USAGE
        except NotUnderstood as error:
            self._say("%s. Install the same version of Potato on both sides" % error)
            return Leave.NOT_UNDERSTOOD
        except OSError as error:
            self._say("the agent cannot go on: %s" % error)
            return Leave.RETRY
        finally:
            self._client.close()
        self._say("stopped" if self._stop.is_set() else "done")
        return Leave.RETRY if self._stop.is_set() and self._left() else Leave.DONE

    def _work(self) -> None:
        done = self._finish_left()
        while not (done and self._settings.once):
            if self._stop.is_set():
                raise Stopped
            self._see_through(self._claimed())
            done = True

    def _finish_left(self) -> bool:
        """Go on with what an earlier agent of this folder left; whether there was anything."""
        done = False
        for folder in unfinished(self._settings.workdir, self._settings.backend):
            try:
                job = read_job((folder.order() or {})["job"])
            except (KeyError, TypeError, ValueError):
                folder.remove()  # another version's; its run is another attempt's by now
                continue
            self._say("run %s: going on with attempt %d" % (job.run_id, job.attempt))
            self._see_through(job)
            done = True
        return done

    def _claimed(self) -> Job:
        """The next job, however long that takes. Raises `Stopped`."""
        timing = self._settings.timing
        while True:
            began = time.monotonic()
            claim = self._patience.ask(self._claim)
            if claim.job is not None:
                self._say("run %s: attempt %d" % (claim.job.run_id, claim.job.attempt))
                return claim.job
            quick = timing.quick_claim - (time.monotonic() - began)
            pause = max(claim.poll_after_s, quick)
            if self._stop.wait(pause * random.uniform(1.0, 1.5)):  # noqa: S311 - spreads agents out, guards nothing
                raise Stopped

    def _claim(self) -> Claim:
        """One claim; a short one where the server was away, so that the person hears soon that it is back."""
        wait = self._settings.timing.claim_wait if self._patience.away_for() == 0.0 else 0.0
        return self._client.claim(self._who(), wait)

    def _who(self) -> Dict[str, Any]:
        return {
            "host": platform.node() or "unknown",
            "workdir": self._settings.workdir,
            "session": self._session,
            "pid": os.getpid(),
            "version": self._settings.version,
            "python": platform.python_version(),
        }

    def _see_through(self, job: Job) -> None:
        """Raises `Refused` where the token is refused, and `Stopped` where the server could not be told."""
        course = Course(job, self._settings, self._clients, self._contact, self._say, self._stop)
        try:
            course.run()
        except Refused as refused:
            if refused.status == 401:
                raise
            self._say("run %s: %s" % (job.run_id, refused))
        else:
            self._say("run %s: delivered" % job.run_id)

    def _take_leave(self) -> None:
        """Tell the server that nobody waits for work here any more. A job that it has given to this agent meanwhile,
        whose answer was never read, ends as stopped. A server that cannot be told will notice by itself."""
        if self._patience.away_for() or unfinished(self._settings.workdir, self._settings.backend):
            return
        self._client.limit_s = self._settings.timing.farewell
        with contextlib.suppress(Unreachable, Refused, NotUnderstood):
            job = self._client.claim(self._who(), 0.0, leaving=True).job
            if job is not None:
                self._client.result(job, {"exit_code": int(Exit.CANCELLED), "reason": STOPPED, "files": {}})
                self._client.claim(self._who(), 0.0, leaving=True)

    def _left(self) -> bool:
        left = unfinished(self._settings.workdir, self._settings.backend)
        for folder in left:
            self._say("the server does not know how run %s ended; the next agent here will tell it" % folder.run_id)
        return bool(left)

    def _refused(self, refused: Refused) -> int:
        self._say(str(refused))
        if refused.status == 401:
            backend = self._settings.backend
            self._say("issue a new token on the server: potato training register %s config.yaml" % backend)
            return Leave.TOKEN_REFUSED
        if refused.code == "backend_held":
            return Leave.BACKEND_HELD
        return Leave.NOT_UNDERSTOOD if refused.code == "protocol_mismatch" else Leave.RETRY
