"""What a thread has to tell of its run, told by the supervisor's own thread when it looks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from potato.training.backends.base import Job

STEP_EVERY_S = 0.5


class Notes:
    """Collects from any thread; `tell` writes them down, in order. After a run's end nobody tells, so nothing that
    comes late is written."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._waiting: deque[Callable[[], None]] = deque()
        self._step = ""
        self._stepped = 0.0

    def say(self, text: str) -> None:
        """A line for the run's log."""
        self._waiting.append(lambda: self._job.log(text))

    def step(self, text: str) -> None:
        """What the run is doing now."""
        if text != self._step:
            self._step, self._stepped = text, time.monotonic()
            self._waiting.append(lambda: self._job.step(text))

    def moving_step(self, text: str) -> None:
        """The same, where it changes all the time: told now and then."""
        if time.monotonic() - self._stepped >= STEP_EVERY_S:
            self.step(text)

    def amend(self, **fields: Any) -> None:
        """Fields of the run's row."""
        self._waiting.append(lambda: self._job.amend(**fields))

    def tell(self) -> None:
        """Write down what has come."""
        while self._waiting:
            self._waiting.popleft()()
