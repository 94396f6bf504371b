"""How often somebody may try a password, or an admin key, counted in memory."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from potato.errors import PotatoError

WINDOW = timedelta(minutes=10)
FOR_NAME, FOR_ADDRESS = 10, 50
"""Failures within the window after which a name, or an address, has to wait."""
FOR_KEY = 10
"""Different wrong keys within the window after which an address has to wait."""
_MOST = 20_000


class TooManyAttempts(PotatoError):
    """Too many passwords or keys were tried. The right one is not taken either until some time has passed."""

    code = "too_many_attempts"
    status = 429

    def __init__(self, wait: timedelta) -> None:
        minutes = max(1, -(-int(wait.total_seconds()) // 60))
        self.retry_after_s = max(1, int(wait.total_seconds()))
        super().__init__(
            "There were too many attempts to sign in",
            hint=f"Try again in {minutes} minute{'' if minutes == 1 else 's'}.",
        )


@dataclass
class Throttle:
    """Counts attempts by name and by address: those of passwords from before one is looked at, which takes a while, so
    that a thousand at once count; those of keys once one was wrong."""

    _attempts: dict[tuple[str, str], deque[datetime]] = field(default_factory=dict)

    def attempt(self, name: str, address: str, now: datetime) -> None:
        """Count an attempt. Raises `TooManyAttempts`, and then counts nothing."""
        keys = {("name", name): FOR_NAME, ("address", address): FOR_ADDRESS}
        self._check(keys, now)
        self._count(keys, now)

    def succeeded(self, name: str, address: str) -> None:
        """The last attempt was right: it counts no more, and the name begins anew."""
        self._attempts.pop(("name", name), None)
        tried = self._attempts.get(("address", address))
        if tried:
            tried.pop()

    def check_key(self, address: str, now: datetime) -> None:
        """Raise `TooManyAttempts` where too many wrong keys came from `address`."""
        self._check({("key", address): FOR_KEY}, now)

    def wrong_key(self, address: str, given: str, now: datetime) -> None:
        """Count a wrong key. The same one again is no further guess: a program that goes on with an old key keeps
        nobody at its address out."""
        said = ("this key", hashlib.sha256(f"{address} {given}".encode("utf-8", "replace")).hexdigest())
        if self._wait(said, 1, now) is None:
            self._count((said, ("key", address)), now)

    def _check(self, keys: Mapping[tuple[str, str], int], now: datetime) -> None:
        waits = [wait for key, most in keys.items() if (wait := self._wait(key, most, now)) is not None]
        if waits:
            raise TooManyAttempts(max(waits))

    def _count(self, keys: Iterable[tuple[str, str]], now: datetime) -> None:
        for key in keys:
            self._attempts.setdefault(key, deque()).append(now)
        if len(self._attempts) > _MOST:
            self._forget(now)

    def _wait(self, key: tuple[str, str], most: int, now: datetime) -> timedelta | None:
        tried = self._attempts.get(key, deque())
        while tried and tried[0] <= now - WINDOW:
            tried.popleft()
        return tried[0] + WINDOW - now if len(tried) >= most else None

    def _forget(self, now: datetime) -> None:
        """Let go of what has aged; where that is not enough, of the oldest."""
        old = [key for key, tried in self._attempts.items() if not tried or tried[-1] <= now - WINDOW]
        for key in old or list(self._attempts)[: _MOST // 2]:
            del self._attempts[key]
