"""Asking again: back-off with jitter, and one line on the terminal when the server goes and when it is back."""

import random
import threading
import time
from dataclasses import dataclass
from typing import Callable, Dict, TypeVar

from potato.training.agent.stop import Stop, Stopped
from potato.training.agent.transport import Unreachable, Unusable

T = TypeVar("T")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Timing:
    """Every duration that the agent chooses by itself, in seconds."""

    first_pause: float = 0.5
    longest_pause: float = 15.0
    poll: float = 0.1
    claim_wait: float = 25.0
    quick_claim: float = 1.0
    """A claim that is answered with nothing in less is not asked again before this long."""
    unsaid: float = 2.0
    """A shorter absence of the server is not worth a line."""
    leave: float = 20.0
    """How long somebody who pressed Ctrl-C waits for the server to be told how the job ended."""
    farewell: float = 3.0
    """How long an agent that leaves without a job waits for each answer to that."""


class Contact:
    """What the agent's connections know of the server, each under its own name. Safe to share between threads."""

    def __init__(self, say: Say, timing: Timing) -> None:
        self._say = say
        self._unsaid = timing.unsaid
        self._lock = threading.Lock()
        self._away: Dict[str, float] = {}
        self._said: float = 0.0
        self.ever = False
        """Whether the server ever answered."""

    def failed(self, name: str, error: Unreachable) -> None:
        """The server could not be asked; said once for each time that it goes."""
        with self._lock:
            since = self._away.setdefault(name, time.monotonic())
            if not self._said and time.monotonic() - since >= self._unsaid:
                self._said = since
                self._say("the server cannot be reached, trying again: %s" % error)

    def answered(self, name: str) -> None:
        """The server answered."""
        with self._lock:
            self.ever = True
            self._away.pop(name, None)
            if self._said and not self._away:
                self._say("the server is back after %.0f seconds" % (time.monotonic() - self._said))
                self._said = 0.0

    def forget(self, name: str) -> None:
        """That connection is not used any more."""
        with self._lock:
            self._away.pop(name, None)

    def away_for(self, name: str) -> float:
        """Seconds since this connection was last answered; 0 while it is."""
        with self._lock:
            return time.monotonic() - self._away[name] if name in self._away else 0.0


class Patience:
    """One connection's way of asking again."""

    def __init__(self, name: str, contact: Contact, stop: Stop, timing: Timing) -> None:
        self._name = name
        self._contact = contact
        self._stop = stop
        self._timing = timing
        self._pause = timing.first_pause

    def ask(self, call: Callable[[], T]) -> T:
        """`call()`'s answer, however long it takes. Raises `Stopped`, and `Unusable` where that was so from the start:
        once the server has answered, nothing but a disturbance on the way makes it so."""
        while True:
            try:
                with self._stop.raising():
                    self._stop.check()
                    answer = call()
            except Unreachable as error:
                if isinstance(error, Unusable) and not self._contact.ever:
                    raise
                self.failed(error)
                if self._stop.wait(self.pause()):
                    raise Stopped from None
            else:
                self.answered()
                return answer

    def failed(self, error: Unreachable) -> None:
        """The server could not be asked."""
        self._contact.failed(self._name, error)

    def answered(self) -> None:
        """The server answered."""
        self._contact.answered(self._name)
        self._pause = self._timing.first_pause

    def away_for(self) -> float:
        """Seconds since the server was last reached; 0 while it answers."""
        return self._contact.away_for(self._name)

    def pause(self) -> float:
        """How long to wait before the next try: longer each time, and never quite the same."""
        pause = self._pause
        self._pause = min(self._timing.longest_pause, pause * 2)
        return pause * random.uniform(0.5, 1.5)  # noqa: S311 - spreads agents out, guards nothing
