"""The lease on a job: a file whose time is changed, again and again, while somebody still wants the job done.

The time is a counter, no clock: how long ago it was changed is measured by whoever looks, with its own monotonic clock.
"""

import os
import time
from typing import Optional


def count(path: str) -> Optional[int]:
    """The file's count; None where there is no such file."""
    try:
        return int(os.stat(path).st_mtime)
    except FileNotFoundError:
        return None


def count_up(path: str) -> None:
    """Add one, where there is such a file. It needs no room on a full disk."""
    before = count(path)
    if before is not None:
        os.utime(path, (before + 1, before + 1))


class Lease:
    """A lease as one process sees it."""

    def __init__(self, path: str, limit_s: float) -> None:
        self._path = path
        self._limit_s = limit_s
        self._seen = count(path)
        self._since = time.monotonic()

    def ran_out(self) -> bool:
        """Whether nobody renewed it for `limit_s`."""
        seen, now = count(self._path), time.monotonic()
        if seen != self._seen:
            self._seen, self._since = seen, now
        return now - self._since > self._limit_s
