"""Being told to stop."""

from contextlib import contextmanager
from typing import Any, Iterator

from potato.training.trainers.base import Cancelled


class Stop:
    """Set by SIGTERM. Inside `raising` the signal also raises `Cancelled` where the program stands, so that a long
    import or a library that never looks is left at once."""

    def __init__(self) -> None:
        self.requested = False
        self._raising = False

    def handle(self, signal_number: int, frame: Any) -> None:
        """The signal handler."""
        self.requested = True
        if self._raising:
            self._raising = False  # once: what cleans up after it is not torn out of it again
            raise Cancelled

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.requested

    def check(self) -> None:
        """Raise `Cancelled` when it is time to stop."""
        if self.requested:
            raise Cancelled

    @contextmanager
    def raising(self) -> Iterator[None]:
        """While the signal raises. Raises `Cancelled` at once where it came earlier."""
        self._raising = True
        try:
            self.check()
            yield
        finally:
            self._raising = False
