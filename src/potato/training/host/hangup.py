"""Noticing at once that the server has left, whatever the program is doing."""

import os
import select
import signal
import threading
from typing import Callable, List, NoReturn

GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)
SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_STARTING_S = 0.5


class Hangup:
    """Ends this program when the other end of `descriptor` is closed, or a signal says so.

    Nothing is unwound: whatever this program does may be cut off at any instant. `on_leaving` is called first, in the
    order in which it was added.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._leaving: List[Callable[[], None]] = []
        self._once = threading.Lock()
        self._told, self._tell = os.pipe()
        os.set_blocking(self._tell, False)
        self.starting = threading.Lock()
        """Held while a child is started, so that none is born between the last look and the end."""

    def watch(self) -> None:
        """Begin. Called from the main thread."""
        threading.Thread(target=self._wait, name="hangup", daemon=True).start()
        # By way of the thread, for the end may not interrupt the start of a child; and told by the interpreter itself:
        # a Python handler waits for the main thread, which a signal that came right before its `poll` does not wake.
        signal.set_wakeup_fd(self._tell, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, lambda number, frame: None)

    def on_leaving(self, call: Callable[[], None]) -> None:
        """Call this before leaving."""
        self._leaving.append(call)

    def forget(self, call: Callable[[], None]) -> None:
        """Do not call it any more."""
        self._leaving.remove(call)

    def leave(self) -> NoReturn:
        """End this program."""
        self._once.acquire()  # for good: whoever comes second waits for the end
        try:
            self.starting.acquire(timeout=_STARTING_S)
            for call in list(self._leaving):
                call()
        finally:
            os._exit(0)

    def _wait(self) -> None:
        poll = select.poll()
        poll.register(self._descriptor, getattr(select, "POLLRDHUP", 0))
        poll.register(self._told, select.POLLIN)
        while not any(event & GONE or descriptor == self._told for descriptor, event in poll.poll()):
            pass
        self.leave()
