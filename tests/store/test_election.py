"""The office of the supervisor: one holds it at a time, and who has lost it writes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab import wait_for
from potato.store import Connection, Database, Writer, election, facts
from potato.store.databases.unreachable import StoreUnreachable
from potato.store.election import Candidate, Fence, OutOfOffice, Standing


@contextmanager
def candidates(url: str, **settings: float) -> Iterator[tuple[Candidate, Candidate]]:
    database = Database(url)
    database.migrate()
    database.close()
    both = Candidate(url, "10.0.0.1:8000", **settings), Candidate(url, "10.0.0.2:8000", **settings)
    yield both
    for each in both:
        each.resign()


def test_one_is_elected_and_the_next_once_it_resigns(postgres_url: str) -> None:
    with candidates(postgres_url) as (one, two):
        first, second = one.look(), two.look()
        assert (first.epoch, second.epoch) == (1, None)
        assert first.supervises and not second.supervises
        assert first.office == second.office
        assert first.office is not None and first.office.address == "10.0.0.1:8000"
        one.resign()
        assert wait_for(lambda: two.look().epoch) == 2  # the database lets the lock go once it has seen the session end
        found = one.look()
        assert found.epoch is None
        assert found.office is not None and found.office.address == "10.0.0.2:8000"


def test_one_that_has_stalled_is_deposed_and_its_writes_change_nothing(postgres_url: str) -> None:
    with candidates(postgres_url, depose_s=0.3) as (one, two):
        stalled = one.look()
        assert stalled.epoch == 1
        assert two.look().epoch is None
        assert wait_for(lambda: two.look().epoch) == 2
        database = Database(postgres_url)
        writer = Writer(database)
        writer.start()

        def write(connection: Connection) -> None:
            facts.put(connection, "late", True)

        with pytest.raises(OutOfOffice):
            Fence(writer, stalled.epoch).call(write)
        Fence(writer, 2).call(lambda connection: facts.put(connection, "present", True))
        child = Database(postgres_url, lambda connection: election.check(connection, stalled.epoch or 0))
        with pytest.raises(OutOfOffice), child.write() as connection:
            write(connection)
        with database.read() as connection:
            assert (facts.get(connection, "late"), facts.get(connection, "present")) == (None, True)
        with pytest.raises(StoreUnreachable):
            one.look()
        assert one.look().epoch is None
        writer.close()
        child.close()
        database.close()


def test_who_has_not_looked_for_long_does_not_take_itself_for_the_supervisor() -> None:
    now = time.monotonic()
    assert Standing(1, None, now).supervises
    assert not Standing(1, None, now - election.STALE_S).supervises
    assert not Standing(None, None, now).supervises
