"""A connection that is gone: what is said of it, when to try again, and when to give up."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from potato.training.ssh.timing import SshTiming


class Outage:
    """Counts from the last word that was heard. `limit_s` is how long the other side goes on without us."""

    def __init__(self, host: str, limit_s: float, timing: SshTiming, say: Callable[[str], None]) -> None:
        self.limit_s = limit_s
        self.reason = ""
        self._host = host
        self._timing = timing
        self._say = say
        self._heard = time.monotonic()
        self._back: float | None = None
        self._pause = timing.first_pause
        self._down = False

    def heard(self) -> None:
        """A word came. Only a connection that lasts makes the pauses short again: one that always breaks is no rush."""
        now = time.monotonic()
        if self._down:
            self._say(f"the connection to {self._host} is back after {now - self._heard:.0f} seconds")
            self._back = now
        elif self._back is not None and now - self._back > self._timing.longest_pause:
            self._back, self._pause = None, self._timing.first_pause
        self._heard, self._down = now, False

    def failed(self, reason: str) -> None:
        """There is no connection, or it could not be made again."""
        self.reason = reason
        if not self._down:
            self._down = True
            again = f"; trying again for {self.limit_s:g} seconds" if self.limit_s else ""
            self._say(f"the connection to {self._host} was lost: {reason}{again}")

    @property
    def is_over_limit(self) -> bool:
        """Whether it has lasted for too long."""
        return self.left() <= 0

    def left(self) -> float:
        """Seconds until it has."""
        return max(0.0, self.limit_s - (time.monotonic() - self._heard))

    def pause(self) -> float:
        """How long to wait before the next try: longer each time, and never quite the same."""
        pause = self._pause
        self._pause = min(self._timing.longest_pause, 2 * pause)
        return min(pause * random.uniform(0.5, 1.5), self.left())  # noqa: S311 - it only spreads tries out
