"""The one form of a time in the store and the API."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

Clock = Callable[[], datetime]
"""Gives the present time, aware and in UTC; tests pass their own."""


def utc_now() -> datetime:
    """The present time."""
    return datetime.now(timezone.utc)


def to_text(moment: datetime) -> str:
    """`2026-11-29T14:15:00.123Z`: UTC, milliseconds, sorts as it reads."""
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def from_text(text: str) -> datetime:
    """The moment that an ISO 8601 `text` with an offset or `Z` names. Raises `ValueError` on anything else."""
    moment = datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; end it with Z for UTC")
    return moment.astimezone(timezone.utc)
