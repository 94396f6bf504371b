"""What wakes the supervisor's thread, and tells it to end."""

from __future__ import annotations

import threading


class Pulse:
    """A wake-up that anyone may give, and one going down."""

    def __init__(self) -> None:
        self._wake = threading.Event()
        self._closing = threading.Event()

    @property
    def closing(self) -> bool:
        """Whether the server is going down."""
        return self._closing.is_set()

    def wake(self) -> None:
        """Have the thread look now."""
        self._wake.set()

    def close(self) -> None:
        """Have the thread end."""
        self._closing.set()
        self._wake.set()

    def pause(self, seconds: float | None) -> None:
        """Wait until woken, at most `seconds`. A wake-up that came since the last pause ends it at once."""
        self._wake.wait(seconds)
        if not self.closing:
            self._wake.clear()
