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
from potato.store import annotations, assignments, items, users
from potato.store.assignments import NothingLeft
from potato.store.training import rankings

SMALL = ("SCAN CONSTANT ROW", "SCAN anon_1", "SCAN live_runs")
"""What may be read whole: `live_runs` has a row for each question, however many items there are."""

ANSWER = {"sentiment": "positive"}


@contextmanager
def statements(project: Small) -> Iterator[list[str]]:
    """What SQLite itself is asked, with its values."""
    seen: list[str] = []

    def trace(conn: Any) -> None:
        conn.connection.dbapi_connection.set_trace_callback(seen.append)

    event.listen(project.database.engine, "begin", trace)
    yield seen
    event.remove(project.database.engine, "begin", trace)
    project.database.close()  # the connections that are traced


@contextmanager
def queries(project: Small) -> Iterator[list[tuple[str, Any]]]:
    """What the driver of PostgreSQL is given: statements and values."""
    seen: list[tuple[str, Any]] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        seen.append((statement, parameters))

    event.listen(project.database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(project.database.engine, "before_cursor_execute", note)


def plan(project: Small, statement: str) -> list[str]:
    with project.database.read() as conn:
        driver: Any = conn.connection.dbapi_connection
        return [row[3] for row in driver.execute(f"EXPLAIN QUERY PLAN {statement}")]


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
            for statement in seen
            if statement.startswith(("SELECT", "UPDATE", "DELETE"))
            for step in plan(project, statement)
            if step.startswith("SCAN") and step not in SMALL
        }
        assert scans == set()


@pytest.mark.parametrize("strategy", ["ordered", "random", "least-annotated"])
def test_nor_does_postgresql_with_many_items_and_answers(tmp_path: Path, postgres_url: str, strategy: str) -> None:
    settings = {"annotations_per_item": 2, "assignment_strategy": strategy, "database_url": postgres_url}
    with small(tmp_path, 3, **settings) as project:
        others = [project.user(f"user {n}") for n in range(4)]
        ann, bob = project.user("ann"), project.user("bob")
        with project.database.write() as conn:
            for statement in filled(others):
                conn.exec_driver_sql(statement)
        project.database.gather_statistics()
        with queries(project) as seen:
            first = given(project, ann)
            project.save(ann, first, ANSWER, request_id="r")
            project.save(ann, first, ANSWER, request_id="r")
            project.skip(bob, given(project, bob), "why")
            given(project, bob)
            look(project, ann)
        assert len(seen) > 30
        asked = {one: values for one, values in seen if one.startswith(("SELECT", "UPDATE", "DELETE"))}
        with project.database.read() as conn:
            plans = {one: explained(conn, one, values) for one, values in asked.items()}
    read_whole = {f"Seq Scan on {table}" for table in LARGE}
    assert {one: plan for one, plan in plans.items() if any(scan in plan for scan in read_whole)} == {}
    assert sum("Index" in plan for plan in plans.values()) > 10


LARGE = ("items", "wanted", "assignments", "annotations", "annotation_history")
MANY, ANSWERED = 50_000, 20_000


def filled(people: list[int]) -> Iterator[str]:
    """Statements that make a study in its middle: many items, the first of them answered by two each."""
    series = f"FROM generate_series(4, {MANY}) n"
    yield (
        "INSERT INTO items (seq, id, text, fields, content, grp, source, line, added_at) "
        f"SELECT n, n::text, 'text ' || n, '{{}}', '\\x00', n::text, 'data.jsonl', n, '2026' {series}"
    )
    yield f"INSERT INTO wanted SELECT n, 0 {series} WHERE n > {ANSWERED}"
    yield f"UPDATE tallies SET value = {MANY} WHERE name = 'items_visible'"
    for user in people[:2], people[2:]:
        answered = f"FROM generate_series(4, {ANSWERED}) n CROSS JOIN (VALUES ({user[0]}), ({user[1]})) AS u(id)"
        half = f"WHERE mod(n, 2) = {people.index(user[0]) // 2}"
        yield (
            'INSERT INTO assignments (item, "user", state, extra, at) '
            f"SELECT n, u.id, 'done', false, '2026' {answered} {half}"
        )
        for table in ("annotations", "annotation_history"):
            yield (
                f'INSERT INTO {table} (item, "user", scheme, value, at, source, origin) '
                f"SELECT n, u.id, 'sentiment', '\"positive\"', '2026', 'page', 'none' {answered} {half}"
            )


def explained(conn: Any, statement: str, parameters: Any) -> str:
    values = parameters[0] if isinstance(parameters, list) else parameters
    return "\n".join(row[0] for row in conn.exec_driver_sql(f"EXPLAIN {statement}", values))


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
    look(project, ann)


def look(project: Small, ann: int) -> None:
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
