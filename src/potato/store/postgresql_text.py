"""Texts on their way to PostgreSQL, which keeps every character but NUL."""

from __future__ import annotations

from psycopg.types.string import StrDumperUnknown

from potato.store.postgresql import INSTEAD, NUL


class WithoutNul(StrDumperUnknown):
    """Writes the replacement character for each NUL: texts keep their length, so places in them stay right."""

    def dump(self, obj: str) -> bytes:
        """The text's bytes."""
        return (obj.replace(NUL, INSTEAD) if NUL in obj else obj).encode("utf-8")
