"""The one interactive write path."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from makers import make_project
from potato.store import Database, Writer, facts


@pytest.fixture
def database(tmp_path: Path) -> Database:
    """An empty store."""
    database = Database(make_project(tmp_path).database_url)
    database.migrate()
    return database


def test_a_function_that_raises_is_undone_alone(database: Database) -> None:
    writer = Writer(database)
    gate = threading.Event()
    writer.start()
    first = writer.submit(lambda connection: gate.wait(10))

    def fail(connection: object) -> None:
        facts.put(connection, "lost", 1)  # type: ignore[arg-type]
        raise ValueError("no")

    answers = [writer.submit(lambda connection: facts.put(connection, "kept", 1)), writer.submit(fail)]
    gate.set()
    assert first.result(10)
    answers[0].result(10)
    with pytest.raises(ValueError, match="no"):
        answers[1].result(10)
    writer.close()
    with database.read() as connection:
        assert (facts.get(connection, "kept"), facts.get(connection, "lost")) == (1, None)


def test_a_cancelled_write_is_left_out_and_the_next_goes_on(database: Database) -> None:
    writer = Writer(database)
    cancelled = writer.submit(lambda connection: facts.put(connection, "cancelled", 1))
    assert cancelled.cancel()
    writer.start()
    writer.submit(lambda connection: facts.put(connection, "next", 1)).result(10)
    writer.close()
    with database.read() as connection:
        assert (facts.get(connection, "cancelled"), facts.get(connection, "next")) == (None, 1)
