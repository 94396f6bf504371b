"""Being asked to stop: by Ctrl-C, or by whoever ends the agent's process."""

import os
import select
import signal
from contextlib import contextmanager
from typing import Any, Iterable, Iterator


class Stopped(Exception):
    """The agent was asked to stop while it waited."""


class Stop:
    """Set once, from a signal handler or any thread. Inside `raising` a signal also raises `Stopped`, so that a long
    wait for the server is left at once.

    It wakes who waits by a pipe: the locks of `threading` may not be taken in a signal handler.
    """

    def __init__(self) -> None:
        self._set = False
        self._raising = False
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    def listen(self, signals: Iterable[int]) -> None:
        """Take these signals for being asked. Called from the main thread.

        The interpreter itself writes into the pipe, too: a handler waits for the main thread, which a signal that came
        right before its wait does not wake.
        """
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in signals:
            signal.signal(number, self.handle)

    def handle(self, signal_number: int, frame: Any) -> None:
        """The signal handler."""
        self.set()
        if self._raising:
            self._raising = False  # once: what cleans up after it is not torn out of it again
            raise Stopped

    def set(self) -> None:
        """Ask to stop."""
        if not self._set:
            self._set = True
            os.write(self._writer, b"\0")

    def check(self) -> None:
        """Raise `Stopped` where somebody asked."""
        if self._set:
            raise Stopped

    def is_set(self) -> bool:
        """Whether somebody asked."""
        return self._set

    def wait(self, seconds: float) -> bool:
        """Wait until somebody asks, at most `seconds`; whether somebody did."""
        return bool(select.select([self._reader], [], [], max(0.0, seconds))[0])

    @contextmanager
    def raising(self) -> Iterator[None]:
        """While a signal raises."""
        self._raising = True
        try:
            yield
        finally:
            self._raising = False
