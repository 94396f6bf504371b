"""The one interactive write path."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from makers import make_project, small
from potato.store import Database, Writer, facts
from potato.store.databases import database as store_database
from potato.store.databases.unreachable import StoreBusy
from small_disk import small_disk


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


@pytest.mark.sqlite("a disk that is full in the middle of a transaction")
def test_a_full_disk_answers_for_nothing_that_it_undid(tmp_path: Path) -> None:
    """annotation 34: SQLite then undoes all that stood in the transaction, also what others had written before."""
    with small_disk(tmp_path / "annotation_output", 4) as disk:
        database = Database(make_project(tmp_path).database_url)
        database.migrate()
        writer = Writer(database)

        def put(name: str, letters: int) -> Future[None]:
            return writer.submit(lambda connection: facts.put(connection, name, "x" * letters))

        written = {name: put(name, letters) for name, letters in (("before", 9), ("large", 6_000_000), ("after", 9))}
        writer.start()
        failed = {name for name, future in written.items() if future.exception(60) is not None}
        with database.read() as connection:
            lost = {name for name in written if facts.get(connection, name) is None}
        assert lost == failed
        assert "large" in lost
        disk.grow(64)
        put("large", 6_000_000).result(60)
        writer.close()
        with database.read() as connection:
            assert facts.get(connection, "large") == "x" * 6_000_000
            assert connection.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        database.close()


@pytest.mark.sqlite("PostgreSQL's own lock is tested beside it")
def test_a_write_that_others_hold_up_too_long_is_given_up_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_database, "WAIT_S", 0.05)
    with small(tmp_path) as project, project.database.write() as conn:
        facts.put(conn, "n", 1)
        with closing(Database(project.database.url)) as other, pytest.raises(StoreBusy), other.write():
            pass
