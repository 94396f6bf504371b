"""Writes that go to the database in one message, where it is a server's: each by itself would wait for its answer."""

from __future__ import annotations

import contextlib

from sqlalchemy import Connection

from potato.store.databases import postgresql


def together(conn: Connection) -> contextlib.AbstractContextManager[None]:
    """Send the statements of the block at once. What came of one (its rows, its `rowcount`) is not known there."""
    return contextlib.nullcontext() if conn.dialect.name == "sqlite" else postgresql.pipelined(conn)
