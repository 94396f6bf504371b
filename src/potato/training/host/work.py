"""The call `work`: this program is the courier of one run, and the connection its way to the server.

It goes on with what an earlier courier left, or else claims the run's job, and ends when the server knows all. A
connection that breaks ends it and nothing else: the keeper looks after the worker, and the next courier comes by
another connection.
"""

import os
import platform
from collections import deque
from typing import Any, Callable, Deque, Dict, Mapping, Optional

from potato.training.agent.agent import Leave
from potato.training.agent.channel_transport import ChannelTransport
from potato.training.agent.client import Client, Job, NotUnderstood, Refused, read_job
from potato.training.agent.course import Course, Settings
from potato.training.agent.folder import JobFolder
from potato.training.agent.patience import Contact, Patience, Timing
from potato.training.agent.stop import Stop
from potato.training.contract.files import write_atomic
from potato.training.host import couriers
from potato.training.host.interpreter import interpreter
from potato.training.host.session import Session
from potato.training.host.tidy import KEEP

LINES = 20
"""What a courier said last, for the run's log."""


def work(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """See one run through; `code` (see `Leave`) and `said`, its last lines. Raises `CallFailed`, `Gone`."""
    courier = Courier(session, call)
    with couriers.alone(courier.folder):
        if call.get("keep"):
            write_atomic(os.path.join(courier.folder.path, KEEP), b"")
        return {"code": int(courier.run()), "said": list(courier.said)}


class Courier:
    """The courier of the run that `call` names."""

    def __init__(self, session: Session, call: Mapping[str, Any]) -> None:
        self.said: Deque[str] = deque(maxlen=LINES)
        self.run_id = str(call["run_id"])
        workdir = os.path.join(session.remote_dir, str(call.get("workdir") or ""))
        self.folder = JobFolder(workdir, self.run_id)
        self._version = str(call.get("version") or "")
        self._hangup = session.hangup
        self._timing = Timing()
        self._stop = Stop()
        self._contact = Contact(self.said.append, self._timing)
        self._settings = Settings(
            backend=str(call["backend"]),
            workdir=workdir,
            python=interpreter(call.get("python")),
            version=self._version,
            once=True,
            keep=bool(call.get("keep")),
            timing=self._timing,
            env=_environment(call.get("env")),
            server_clears=True,
        )
        transport = ChannelTransport(session.channel)
        self._clients: Callable[[], Client] = lambda: Client(transport, "", self._settings.backend)

    def run(self) -> Leave:
        """Work until the server knows all. Raises `Gone`."""
        try:
            self._see_through(self._job())
        except Refused as refused:
            self.said.append(str(refused))
            return Leave.RETRY
        except NotUnderstood as error:
            self.said.append(str(error))
            return Leave.NOT_UNDERSTOOD
        return Leave.DONE

    def _see_through(self, job: Job) -> None:
        course = Course(job, self._settings, self._clients, self._contact, self.said.append, self._stop)
        self._hangup.on_leaving(course.lost)
        try:
            course.run()
        finally:
            self._hangup.forget(course.lost)

    def _job(self) -> Job:
        """The job that lies here already, or else the one that the server has for this courier."""
        try:
            return read_job((self.folder.order() or {})["job"])
        except (KeyError, TypeError, ValueError):
            return self._claimed()

    def _claimed(self) -> Job:
        client = self._clients()
        patience = Patience("claim", self._contact, self._stop, self._timing)
        while True:
            claim = patience.ask(lambda: client.claim(self._who(), 0.0))
            if claim.job is not None and claim.job.run_id != self.run_id:
                raise NotUnderstood("the server offered run %s to the courier of %s" % (claim.job.run_id, self.run_id))
            if claim.job is not None:
                return claim.job
            self._stop.wait(max(claim.poll_after_s, self._timing.poll))

    def _who(self) -> Dict[str, Any]:
        return {
            "host": platform.node() or "unknown",
            "workdir": self.folder.workdir,
            "session": os.urandom(8).hex(),
            "pid": os.getpid(),
            "version": self._version,
            "python": platform.python_version(),
        }


def _environment(given: Any) -> Optional[Dict[str, str]]:
    return None if given is None else {str(name): str(value) for name, value in dict(given).items()}
