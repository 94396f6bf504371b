"""The worker's own look at its lease: the last resort, for a worker whose keeper and courier were killed and never
came back. It ends later than the keeper would have ended it, so that a keeper that lives is the one to act."""

import os
import signal
import threading
from typing import Callable, Optional

from potato.training.contract.lease import Lease

POLL_S = 1.0


class Watch:
    """A context: while it is open and `lease` has run out, this process and its group are told to end (SIGTERM), and
    after `grace_s` killed. Nothing is watched where there is no lease."""

    def __init__(self, lease: Optional[Lease], grace_s: float, say: Callable[[str], None]) -> None:
        self._lease = lease
        self._grace_s = grace_s
        self._say = say
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._ran_out = False

    def __enter__(self) -> "Watch":
        if self._lease is not None:
            threading.Thread(target=self._look, args=(self._lease,), name="watch", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._over.set()

    def end_rest(self) -> None:
        """Nobody is there to end what this process started: where the lease ran out, that ends now, and this process
        with it."""
        if self._ran_out:
            _signal_all(signal.SIGKILL)

    def _look(self, lease: Lease) -> None:
        while not lease.ran_out():
            if self._over.wait(POLL_S):
                return
        with self._lock:
            if self._over.is_set():
                return
            self._ran_out = True
            self._say("nobody has looked after this job for too long; it ends")
        _signal_all(signal.SIGTERM)
        if not self._over.wait(self._grace_s):
            _signal_all(signal.SIGKILL)


def _signal_all(number: int) -> None:
    """Signal this process, and its whole group where it leads one."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), number)
    else:
        os.kill(os.getpid(), number)
