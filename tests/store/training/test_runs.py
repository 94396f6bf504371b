"""Runs in the store."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from makers import make_project
from potato.store import Database
from potato.store.training import runs
from potato.store.training.runs import FINISHED, TRANSITIONS, NotAllowed, Run, State, UnknownRun

AT = "2026-11-29T14:15:00.000Z"


@pytest.fixture
def database(tmp_path: Path) -> Database:
    database = Database(make_project(tmp_path).database_url)
    database.migrate()
    return database


def new(run_id: str, state: State = State.QUEUED, at: str = AT) -> Run:
    return Run(run_id, state, "t", ["s"], {"a": 1}, "api", "local", "local", at)


@pytest.mark.parametrize(("before", "to"), list(product(State, State)))
def test_one_table_says_which_state_may_follow_which(database: Database, before: State, to: State) -> None:
    with database.write() as connection:
        runs.add(connection, new("r", before))
        if to in TRANSITIONS[before]:
            assert runs.transition(connection, "r", to, step="x").step == "x"
        elif to is before:
            assert runs.transition(connection, "r", to, step="x").step == ""  # repeating changes nothing
        else:
            with pytest.raises(NotAllowed):
                runs.transition(connection, "r", to)


def test_nothing_follows_an_end() -> None:
    assert all(not TRANSITIONS[state] for state in FINISHED)


def test_a_run_comes_back_as_it_was_recorded(database: Database) -> None:
    run = Run(
        **{**vars(new("r")), "warnings": ["w"], "scores": {"s": {"x": None}}, "error": {"code": "c"}, "applied": 7}
    )
    with database.write() as connection:
        runs.add(connection, run)
    with database.read() as connection:
        assert vars(runs.get(connection, "r")) == vars(run) | {"live": [], "labels_upto": 0}  # type: ignore[arg-type]
        assert runs.get(connection, "other") is None
        with pytest.raises(UnknownRun):
            runs.transition(connection, "other", State.ERROR)


def test_the_queue_is_in_order_whatever_the_clock_says(database: Database) -> None:
    names = ["c", "a", "b", "d"]
    with database.write() as connection:
        for name, at in zip(names, (AT, AT, "2020-01-01T00:00:00.000Z", AT), strict=True):
            runs.add(connection, new(name, at=at))
    with database.read() as connection:
        assert [run.run_id for run in runs.queue(connection)] == names
        newest_first = [run.run_id for run in runs.page(connection, 10)]
        assert newest_first == names[::-1]
        assert [run.run_id for run in runs.page(connection, 2, before="b")] == ["a", "c"]
        with pytest.raises(UnknownRun):
            runs.page(connection, 2, before="nosuch")
