"""The agent's heartbeat: a thread with a connection of its own, so that a slow upload is never silence."""

import threading
import time
from typing import Optional

from potato.training.agent.client import Client, Job, Refused
from potato.training.agent.folder import Attempt
from potato.training.agent.keeper import CANCELLED
from potato.training.agent.patience import Contact
from potato.training.agent.transport import Gone, Unreachable

_NAME = "pulse"


class Pulse:
    """Reports while a job is in hand: renews the lease at each answer, and passes the server's cancel on."""

    def __init__(self, client: Client, job: Job, attempt: Attempt, contact: Contact) -> None:
        self._client = client
        self._job = job
        self._attempt = attempt
        self._contact = contact
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=_NAME, daemon=True)
        self.step = ""
        self.refused: Optional[Refused] = None
        """Why the server takes nothing more of this attempt, once it said so."""
        self.gone: Optional[Gone] = None
        """Why the server will not be heard any more by this way."""

    def __enter__(self) -> "Pulse":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join(1.0)  # one that waits for a server that does not answer ends by itself
        self._contact.forget(_NAME)

    def _beat(self) -> None:
        interval = min(self._job.report_every_s, self._job.heartbeat_timeout_s / 4)
        while not self._done.is_set() and self.refused is None and self.gone is None:
            self._report()
            self._done.wait(interval)
        self._client.close()

    def _report(self) -> None:
        try:
            cancel = self._client.report(self._job, self.step, time.time())
        except Unreachable as error:
            if not self._done.is_set():
                self._contact.failed(_NAME, error)
            return  # and the lease is not renewed
        except Gone as gone:
            self.gone = gone
            return
        except Refused as refused:
            self.refused = refused
            self._attempt.ask_cancel(str(refused))
            return
        if self._done.is_set():
            return
        self._contact.answered(_NAME)
        self._attempt.renew_lease()
        if cancel:
            self._attempt.ask_cancel(CANCELLED)
