"""What SQLite says of a file that it cannot use, as an error that a person can be told."""

from __future__ import annotations

import sqlite3

from potato.errors import PotatoError


class StoreRefused(PotatoError):
    """SQLite cannot use the store's file."""

    code = "store_refused"
    status = 500

    def __init__(self, error: sqlite3.Error) -> None:
        super().__init__(
            f"the project's store cannot be used: {error}",
            hint="It is potato.db in output_annotation_dir. Look who owns it, and whether its disk has room.",
        )


def refusal(error: Exception) -> StoreRefused | None:
    """What `error` says of the store's file; nothing where it is about something else."""
    behind = getattr(error, "orig", error)  # SQLAlchemy's errors carry the driver's
    return StoreRefused(behind) if isinstance(behind, sqlite3.Error) else None
