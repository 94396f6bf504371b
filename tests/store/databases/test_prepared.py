"""Statements that are worded once give what SQLAlchemy gives."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from makers import NOW, Small, small
from potato.store import users
from potato.store.databases.prepared import Prepared
from potato.store.tables import assignments, facts

ADD = Prepared(insert(facts), ["name", "value"])
ALL = select(facts.c.name, facts.c.value).order_by(facts.c.name).limit(bindparam("most"))
VALUES = [None, "te\u0301xt \U0001f4a9", 0, 1.5, True, [], {"a": [1, None]}]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Small]:
    with small(tmp_path, 2) as made:
        yield made


@pytest.fixture
def conn(project: Small) -> Iterator[Connection]:
    with project.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM facts")
        yield connection


def test_values_go_in_and_come_out_as_through_core(conn: Connection) -> None:
    ADD.run(conn, [{"value": value, "name": str(place)} for place, value in enumerate(VALUES)])
    core = [tuple(row) for row in conn.execute(ALL, {"most": 99})]
    assert core == [(str(place), value) for place, value in enumerate(VALUES)]
    assert Prepared(ALL).all(conn, most=99) == core
    assert Prepared(ALL).all(conn, most=2) == core[:2]
    assert Prepared(ALL).first(conn, most=0) is None
    assert Prepared(select(facts.c.value).where(facts.c.name == "5")).scalar(conn) == []


def test_what_json_has_no_number_for_goes_in_as_through_core(conn: Connection) -> None:
    values = {"inf": float("inf"), "nan": [float("nan")], "last digit": -135.8154514578912, "large": 1e300}
    rows = [{"name": name, "value": value} for name, value in values.items()]
    read = select(facts.c.name, facts.c.value)
    ADD.run(conn, rows)
    prepared = dict(Prepared(read).all(conn))
    conn.exec_driver_sql("DELETE FROM facts")
    conn.execute(insert(facts), rows)
    assert prepared == {row.name: row.value for row in conn.execute(read)} == {**values, "inf": None, "nan": [None]}


def test_a_truth_value_is_one(conn: Connection) -> None:
    ann = users.ensure(conn, "ann", NOW)
    row = {"item": 1, "user": ann, "state": "done", "extra": True, "at": "2026"}
    Prepared(insert(assignments), list(row)).run(conn, row)
    assert Prepared(select(assignments.c.extra, assignments.c.reason)).all(conn) == [(True, None)]


def test_an_error_is_what_it_would_be_through_core(project: Small) -> None:
    with pytest.raises(IntegrityError), project.database.write() as conn:
        ADD.run(conn, [{"name": "n", "value": 1}] * 2)
