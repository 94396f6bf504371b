"""What annotators wait for goes by an index: it costs the same however many items there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

import training_scenes as scenes
from makers import NOW, Small, later, small
from potato.store import annotations, assignments, items, rankings, users
from potato.store.assignments import NothingLeft

SMALL = ("SCAN CONSTANT ROW", "SCAN anon_1", "SCAN live_runs")
"""What may be read whole: `live_runs` has a row for each question, however many items there are."""

ANSWER = {"sentiment": "positive"}


@contextmanager
def statements(project: Small) -> Iterator[list[tuple[str, Any]]]:
    seen: list[tuple[str, Any]] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        seen.append((statement, parameters))

    event.listen(project.database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(project.database.engine, "before_cursor_execute", note)


def plan(project: Small, statement: str, parameters: Any) -> list[str]:
    values = parameters[0] if isinstance(parameters, list) else parameters
    with project.database.read() as conn:
        return [row[3] for row in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values)]


@pytest.mark.sqlite("it reads SQLite's plans")
@pytest.mark.parametrize("strategy", ["ordered", "random", "least-annotated", "uncertainty"])
def test_no_statement_of_an_annotators_request_reads_a_whole_table(tmp_path: Path, strategy: str) -> None:
    """annotation 67"""
    share = {"uncertainty_random_share": 0.0}
    with small(tmp_path, 5, annotations_per_item=2, assignment_strategy=strategy, **share) as project:
        if strategy == "uncertainty":
            rank(project)
        ann, bob = project.user("ann"), project.user("bob")
        with project.database.write() as conn:
            conn.exec_driver_sql("ANALYZE")
        with statements(project) as seen:
            work(project, ann, bob)
        assert len(seen) > 50
        scans = {
            (step, statement)
            for statement, parameters in seen
            if statement.startswith(("SELECT", "UPDATE", "DELETE"))
            for step in plan(project, statement, parameters)
            if step.startswith("SCAN") and step not in SMALL
        }
        assert scans == set()


def rank(project: Small) -> None:
    run = scenes.succeeded(1)
    with project.database.write() as conn:
        scenes.add(conn, run, live=run)
        rankings.add(conn, run.run_id, 0, [4, 2, 1])


def work(project: Small, ann: int, bob: int) -> None:
    first = given(project, ann)
    project.save(ann, first, ANSWER, request_id="r")
    project.save(ann, first, ANSWER, request_id="r")
    project.save(ann, given(project, ann), ANSWER, request_id="s")
    project.skip(bob, given(project, bob), "why")
    given(project, bob)
    project.next(ann, later(200))
    project.save(ann, first, {"sentiment": None})
    while not isinstance(item := project.next(bob), NothingLeft):
        project.save(bob, item, ANSWER)
    with project.database.read() as conn:
        items.by_seq(conn, 1)
        items.by_id(conn, "1")
        users.by_name(conn, "ann")
        annotations.of_user(conn, ann, 1)
        assignments.progress(conn, ann)
        assignments.was_given(conn, ann, 1)
        assignments.neighbour(conn, ann, 2, "back")
        assignments.neighbour(conn, ann, 1, "forth")


def given(project: Small, user: int) -> int:
    item = project.next(user, NOW)
    assert isinstance(item, int)
    return item
