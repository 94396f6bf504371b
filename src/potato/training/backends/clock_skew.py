"""A machine whose clock is far off is said once; nothing depends on it."""

from __future__ import annotations

from collections.abc import Callable

CLOCK_OFF_S = 30.0


class ClockSkew:
    """Says it once for a run."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._said = False

    def look(self, host: str, seconds: float) -> None:
        """The clock of `host` is so many seconds before ours."""
        if abs(seconds) > CLOCK_OFF_S and not self._said:
            self._said = True
            self._say(f"the clock of {host} is {seconds:+.0f} seconds off; nothing depends on it")
