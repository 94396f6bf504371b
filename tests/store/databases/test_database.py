"""Reading transactions: what is left of one when its block ends, however it does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from makers import Small, small
from potato.store import Database, facts
from potato.store.tables import items


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Small]:
    with small(tmp_path, 50) as made:
        yield made


def streamed(conn: Connection) -> Iterator[Any]:
    yield from conn.execute(select(items.c.seq), execution_options={"yield_per": 2})


def works(project: Small) -> None:
    """A write of another process is seen, and the connection that was read with can write."""
    other = Database(project.project.database_url)
    with other.write() as conn:
        facts.put(conn, "x", 1)
    other.close()
    assert project.read(facts.get, "x") == 1
    project.write(facts.put, "x", 2)
    assert project.read(facts.get, "x") == 2


def test_an_error_while_rows_are_streamed_leaves_its_connection_usable_while_the_traceback_lives(
    project: Small,
) -> None:
    def fail(rows: Iterator[Any]) -> None:
        for _ in rows:
            raise RuntimeError

    with pytest.raises(RuntimeError) as kept, project.database.read() as conn:
        fail(streamed(conn))
    works(project)
    assert kept.value.__traceback__ is not None


def test_rows_that_are_not_read_to_their_end_leave_their_connection_usable(project: Small) -> None:
    with project.database.read() as conn:
        rows = streamed(conn)
        assert next(rows) == (1,)
    works(project)
    rows.close()
