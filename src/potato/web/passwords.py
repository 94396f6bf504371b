"""Passwords: argon2 hashes, and the same work for a name that nobody has."""

from __future__ import annotations

import secrets
import threading
from functools import lru_cache
from typing import TYPE_CHECKING

from potato.errors import PotatoError

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 8, 1000
_AT_ONCE = threading.Semaphore(2)  # each takes 64 MB and a tenth of a second


class WeakPassword(PotatoError):
    """A password that is too short, or too long to be hashed in good time."""

    code = "weak_password"
    status = 400

    def __init__(self) -> None:
        super().__init__(f"a password has {SHORTEST} to {LONGEST:,} characters")


def hashed(password: str) -> str:
    """The hash to store. Raises `WeakPassword`."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise WeakPassword
    with _AT_ONCE:
        return _hasher().hash(password)


def matches(password_hash: str | None, password: str) -> bool:
    """Whether that is the password. Where there is none it takes as long, and is False."""
    from argon2.exceptions import InvalidHashError, VerificationError

    with _AT_ONCE:
        try:
            right: bool = _hasher().verify(password_hash or _nobodys(), password[:LONGEST])
        except (VerificationError, InvalidHashError):
            right = False
    return right and password_hash is not None


def made_up() -> str:
    """A new password that people can read out: 20 letters and digits without those that look alike."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    return "-".join("".join(secrets.choice(letters) for _ in range(5)) for _ in range(4))


@lru_cache(maxsize=1)
def _hasher() -> PasswordHasher:
    from argon2 import PasswordHasher

    return PasswordHasher()


@lru_cache(maxsize=1)
def _nobodys() -> str:
    return _hasher().hash(secrets.token_hex(16))
