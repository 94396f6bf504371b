"""What SQLite says of a file that it cannot use, as an error that a person can be told."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator

from potato.errors import PotatoError
from potato.store.databases.unreachable import StoreBusy


class StoreRefused(PotatoError):
    """SQLite cannot use the store's file."""

    code = "store_refused"
    status = 500

    def __init__(self, error: sqlite3.Error) -> None:
        super().__init__(
            f"the project's store cannot be used: {error}",
            hint="It is potato.db in output_annotation_dir. Look who owns it, and whether its disk has room.",
        )


class StoreFull(PotatoError):
    """The disk has no room for what was to be written. Nothing of it is there; what was there before still is."""

    code = "store_full"
    status = 507
    retry_after_s = 15

    def __init__(self) -> None:
        super().__init__(
            "The disk that holds the project's store is full, so nothing was saved",
            hint="Whoever runs the server makes room there; it goes on by itself then. "
            "The annotation page keeps its answers and sends them again.",
        )


_FULL = "database or disk is full"
_LOCKED = "database is locked"


def refusal(error: Exception) -> StoreRefused | StoreFull | None:
    """What `error` says of the store's file; nothing where it is about something else."""
    behind = getattr(error, "orig", error)  # SQLAlchemy's errors carry the driver's
    if not isinstance(behind, sqlite3.Error):
        return None
    return StoreFull() if is_full(error) else StoreRefused(behind)


def is_full(error: Exception) -> bool:
    """Whether SQLite says that there is no room."""
    behind = getattr(error, "orig", error)
    return isinstance(behind, sqlite3.OperationalError) and _FULL in str(behind)


@contextlib.contextmanager
def refusals_told() -> Iterator[None]:
    """Raise `StoreFull` where SQLite found no room, and `StoreBusy` where another writer has not let go."""
    try:
        yield
    except Exception as error:
        if is_full(error):
            raise StoreFull from error
        if _LOCKED in str(getattr(error, "orig", "")):
            raise StoreBusy from error
        raise
