"""A store in PostgreSQL: what is refused with a sentence, what is lost with a connection, and what is not."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import select

import postgres as servers
from makers import NOW, Small, later, make_project, opened, small, write_rows
from postgres import Postgres
from potato.errors import PotatoError
from potato.items.loading import load_items
from potato.store import Database, Writer, annotations, assignments, facts, tables, users
from potato.store.annotations import Save
from potato.store.assignments import NothingLeft
from potato.store.databases import postgresql, snapshot
from potato.store.databases.together import together
from potato.store.databases.unreachable import (
    DriverMissing,
    StoreBusy,
    StoreNotOpened,
    StoreUnreachable,
    StoreUnsuitable,
)
from potato.store.training import retraining
from potato.store.training.retraining import Decision

POSITIVE = {"sentiment": "positive"}


def refused(url: str) -> PotatoError:
    """What opening a store there raises; nothing in it or in its traceback gives the password away."""
    with pytest.raises(PotatoError) as raised, contextlib.closing(Database(url)) as database:
        database.migrate()
    assert raised.value.hint
    assert "s3cret" not in "".join(str(part) for part in (raised.value, raised.value.hint, raised.value.__cause__))
    return raised.value


def test_what_is_wrong_with_a_database_is_said_with_a_way_out_and_without_the_password(postgres: Postgres) -> None:
    where = f"127.0.0.1:{postgres.port}"
    error = refused(postgres.url(password="s3cret"))
    assert isinstance(error, StoreNotOpened)
    assert error.message == (
        f'the database potato at {where} cannot be opened: password authentication failed for user "potato"'
    )
    assert error.hint == (
        "Look at the user and the password in database_url, and at what the server's pg_hba.conf lets in."
    )
    error = refused(postgres.url(database="nowhere"))
    assert error.message == f'the database nowhere at {where} cannot be opened: database "nowhere" does not exist'
    assert "CREATE DATABASE" in str(error.hint)
    error = refused("postgresql://potato:s3cret@127.0.0.1:9/potato")
    assert "the database potato at 127.0.0.1:9 cannot be opened: " in error.message
    assert "Connection refused" in error.message
    assert "runs and takes connections" in str(error.hint)
    error = refused("postgresql://potato:s3cret@no.such.host.invalid/potato")
    assert "Look at the host's name" in str(error.hint)


def test_a_database_in_which_no_project_can_be_kept_is_refused(postgres: Postgres, postgres_url: str) -> None:
    postgres.admin("CREATE ROLE guest LOGIN PASSWORD 's3cret'")
    for encoding in ("LATIN1", "SQL_ASCII"):
        postgres.admin(f"CREATE DATABASE {encoding} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0 OWNER potato")
    try:
        error = refused(postgres.url(user="guest", password="s3cret"))
        assert error.message.startswith("guest may not make tables in the schema public of the database potato at ")
        assert "GRANT CREATE" in str(error.hint)
        for encoding in ("LATIN1", "SQL_ASCII"):
            error = refused(postgres.url(database=encoding.lower()))
            assert f" has the encoding {encoding}, which cannot hold every text" in error.message
            assert "ENCODING 'UTF8'" in str(error.hint)
        assert "none of the schemas" in refused(postgres.url("absent")).message
    finally:
        postgres.admin("DROP DATABASE latin1")
        postgres.admin("DROP DATABASE sql_ascii")
        postgres.admin("DROP ROLE guest")
    database = Database(postgres_url)
    database.migrate()
    with database.write() as conn:
        conn.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    assert "newer version of Potato" in refused(postgres_url).message
    database.close()


def test_every_text_is_kept_whatever_encoding_is_asked_for(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    for url in (postgres_url, f"{postgres_url}&client_encoding=SQL_ASCII"):
        database = Database(url)
        database.migrate()
        with database.write() as conn:
            users.ensure(conn, "Zoë 🥔", NOW)
        with database.read() as conn:
            assert list(conn.execute(select(tables.users.c.name)).scalars()) == ["Zoë 🥔"]
        database.close()


@pytest.mark.parametrize("end", ["rollback", "cut"])
def test_rows_that_are_not_read_to_their_end_are_let_go_with_the_transaction(
    postgres: Postgres, postgres_url: str, end: str
) -> None:
    database = Database(postgres_url)
    database.migrate()
    with database.write() as conn:
        for number in range(10):
            users.ensure(conn, f"user {number}", NOW)
    left: list[Any] = []
    expected = ArithmeticError if end == "rollback" else StoreUnreachable
    with pytest.raises(expected), database.read() as conn:
        rows = conn.execute(select(tables.users), execution_options={"yield_per": 2})
        next(rows)
        left.append(rows.cursor)
        if end == "rollback":
            raise ArithmeticError
        postgres.admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'potato'")
        rows.fetchall()
    assert left[0].closed
    database.close()


def test_an_old_server_is_refused(postgres: Postgres, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "OLDEST", 99)
    error = refused(postgres_url)
    assert isinstance(error, StoreUnsuitable)
    assert "which is too old" in error.message


@pytest.mark.parametrize(
    "url", ["mysql://u:s3cret@h/d", "postgresql+psycopg2://u:s3cret@h/d", "s3cret", "postgres://s3cret"]
)
def test_what_is_no_address_of_postgresql_is_refused(url: str) -> None:
    assert refused(url).message == "database_url is not the address of a PostgreSQL database"


def test_a_missing_driver_is_named_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql.importlib.util, "find_spec", lambda name: None)
    assert isinstance(refused("postgresql://u:s3cret@h/d"), DriverMissing)


@pytest.fixture
def project(tmp_path: Path, postgres_url: str) -> Iterator[Small]:
    """Three items, in PostgreSQL."""
    with small(tmp_path, database_url=postgres_url.replace("postgresql:", "postgres:")) as made:
        yield made


def test_writers_wait_for_each_other_and_readers_for_nobody(project: Small, postgres_url: str) -> None:
    other = Database(postgres_url)
    began, seen = threading.Event(), []

    def count_up() -> None:
        began.set()
        with other.write() as conn:
            seen.append(facts.get(conn, "n"))
            facts.put(conn, "n", 2)

    thread = threading.Thread(target=count_up)
    with project.database.write() as conn, other.read() as snapshot:
        thread.start()
        began.wait()
        facts.put(conn, "n", 1)
        assert facts.get(snapshot, "n") is None
        thread.join(0.2)
        assert seen == []
    thread.join(60)
    assert seen == [1]
    assert project.read(facts.get, "n") == 2
    other.close()


def test_two_processes_make_the_tables_at_once(postgres_url: str) -> None:
    code = f"from potato.store import Database; Database({postgres_url!r}).migrate()"
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [child.wait(120) for child in children] == [0, 0, 0]


def test_one_at_a_time_loads_and_a_killed_one_holds_nobody_up(tmp_path: Path, postgres_url: str) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom potato.store import Database\n"
        f"with Database({postgres_url!r}).exclusive('load', Path('.')):\n"
        "    print('held', flush=True)\n    sys.stdin.read()"
    )
    command = [sys.executable, "-c", code]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert child.stdin and child.stdout
    assert child.stdout.readline() == "held\n"
    entered = threading.Event()

    def enter() -> None:
        with Database(postgres_url).exclusive("load", tmp_path):
            entered.set()

    thread = threading.Thread(target=enter)
    thread.start()
    assert not entered.wait(0.2)
    child.kill()
    child.wait()
    thread.join(60)
    assert entered.is_set()
    child.stdin.close()
    child.stdout.close()


def test_texts_sort_by_code_points_and_keep_their_length_without_nul(tmp_path: Path, postgres_url: str) -> None:
    names = ["Zoe", "adam", "ädda", "Émile", "\U0001f954"]
    write_rows(tmp_path, [{"id": "1", "text": "one", "more": "\x00"}])
    said = Decision("2026-11-29T14:15:00.000Z", "refused", "one\x00two", None)
    with opened(project := make_project(tmp_path, database_url=postgres_url)) as database:
        with database.write() as conn:
            for name in names:
                users.ensure(conn, name, NOW)
        with database.read() as conn:
            assert [user.name for user in users.page(conn, "", 10)] == sorted(names)
        assert load_items(project, database).added == 1
        assert load_items(project, database).unchanged == 1
        with database.read() as conn:
            assert conn.execute(select(tables.items.c.fields)).scalar() == {"more": "\x00"}
        with database.write() as conn:
            retraining.log(conn, said)
            assert retraining.decided(conn, 1)[0].sentence == "one\ufffdtwo"


def test_what_an_answer_says_is_kept_to_the_letter(project: Small) -> None:
    value: Any = {"b": 1.0, "a": [10**15, 1e-7, "x\x00y \U0001f954", True, None]}
    with project.database.write() as conn:
        facts.put(conn, "value", value)
    kept = project.read(facts.get, "value")
    assert (kept, list(kept), type(kept["b"])) == (value, ["b", "a"], float)


def test_a_connection_that_the_server_has_closed_is_replaced(project: Small, postgres: Postgres) -> None:
    ann = project.user("ann")
    cut_off(postgres)
    assert project.progress(ann).total == 3
    cut_off(postgres)
    project.save(ann, 1, POSITIVE)
    assert project.progress(ann).done == 1


def cut_off(postgres: Postgres) -> None:
    """End every session of Potato's."""
    postgres.admin("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'potato'")


def test_a_batch_that_is_cut_off_is_answered_as_failed_and_the_next_goes_on(project: Small, postgres: Postgres) -> None:
    writer, gate, there = Writer(project.database), threading.Event(), threading.Event()
    ann = project.user("ann")
    writer.start()

    def wait(_: Any) -> None:
        there.set()
        assert gate.wait(60)

    def save(item: int) -> Any:
        order = Save(ann, item, POSITIVE, NOW, request_id=f"r{item}")
        return writer.submit(lambda conn: annotations.save(conn, order, project.rules))

    first = [writer.submit(wait), save(1), save(2)]
    assert there.wait(60)
    cut_off(postgres)
    gate.set()
    assert [type(future.exception(60)) for future in first] == [StoreUnreachable] * 3
    assert save(1).result(60).repeated is False
    writer.close()
    assert (project.progress(ann).done, project.progress(ann).total_done) == (1, 1)


def test_writes_that_are_cut_off_on_their_way_fail_with_their_batch(project: Small, postgres: Postgres) -> None:
    writer, ann = Writer(project.database), project.user("ann")

    def cut(conn: Any) -> None:
        facts.tally(conn, "n")
        with together(conn):
            cut_off(postgres)
            facts.count(conn, "n", 1)

    jobs = [writer.submit(lambda conn: facts.count(conn, "n", 1)), writer.submit(cut)]
    writer.start()
    assert [type(job.exception(60)) for job in jobs] == [StoreUnreachable] * 2
    order = Save(ann, 1, POSITIVE, NOW, request_id="r1")
    assert writer.call(lambda conn: annotations.save(conn, order, project.rules)).item_done
    writer.close()
    assert project.read(facts.tally, "n") == 0


def test_a_restart_of_the_database_costs_only_what_was_not_acknowledged(tmp_path: Path) -> None:
    with servers.start() as server, small(tmp_path, database_url=server.url()) as project:
        ann = project.user("ann")
        for number in (signal.SIGINT, signal.SIGQUIT):
            server.stop(number)
            with pytest.raises(StoreUnreachable) as raised:
                project.save(ann, 1, POSITIVE)
            assert (raised.value.status, raised.value.retry_after_s) == (503, 2)
            with pytest.raises(StoreUnreachable):
                project.progress(ann)
            server.start()
            project.save(ann, 1, POSITIVE, request_id="r")
        assert project.progress(ann).done == 1


def test_twenty_annotators_at_two_writers_are_never_given_the_same_item(tmp_path: Path, postgres_url: str) -> None:
    with small(tmp_path, 200, database_url=postgres_url) as project:
        databases = [project.database, Database(postgres_url)]
        writers = [Writer(database) for database in databases]
        for writer in writers:
            writer.start()
        given: list[int] = []
        people = [project.user(f"user {n}") for n in range(20)]

        def annotate(place: int, user: int) -> None:
            writer = writers[place % 2]
            while True:
                item = writer.call(lambda conn: assignments.next_item(conn, user, NOW, project.rules))
                if isinstance(item, NothingLeft):
                    return
                given.append(item)
                order = Save(user, item, POSITIVE, later(1))
                writer.call(lambda conn, order=order: annotations.save(conn, order, project.rules))

        threads = [threading.Thread(target=annotate, args=pair) for pair in enumerate(people)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        for writer in writers:
            writer.close()
        databases[1].close()
        assert sorted(given) == list(range(1, 201))


def test_what_is_committed_is_on_disk_whatever_the_server_or_the_role_is_set_to(
    postgres: Postgres, postgres_url: str
) -> None:
    assert postgres.admin("SHOW synchronous_commit") == [("off",)]
    stricter = f"{postgres_url}%20-csynchronous_commit%3Dremote_apply"
    for url, kept in ((postgres_url, "on"), (stricter, "remote_apply")):
        with contextlib.closing(Database(url)) as database, database.write() as conn:
            assert conn.exec_driver_sql("SHOW synchronous_commit").scalar() == kept


def test_a_write_that_others_hold_up_too_long_is_given_up_with_a_sentence(
    project: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = project.user("ann")
    monkeypatch.setattr(postgresql, "_SESSION", ("SET lock_timeout = '50ms'",))
    with contextlib.closing(Database(project.database.url)) as impatient:
        with project.database.write() as conn:
            facts.put(conn, "n", 1)
            with pytest.raises(StoreBusy) as raised, impatient.write() as other:
                users.ensure(other, "bob", NOW)
            with pytest.raises(StoreBusy), impatient.write() as other, together(other):
                facts.put(other, "n", 2)
        assert (raised.value.status, raised.value.retry_after_s) == (503, 5)
        with impatient.write() as other:
            assert users.ensure(other, "bob", NOW) > ann


def test_a_job_that_fails_is_undone_alone_though_its_writes_travel_together(project: Small) -> None:
    ann, writer, gate = project.user("ann"), Writer(project.database), threading.Event()
    writer.start()

    def save(item: int, fails: bool) -> Any:
        def job(conn: Any) -> Any:
            saved = annotations.save(conn, Save(ann, item, POSITIVE, NOW, request_id=f"r{item}"), project.rules)
            if fails:
                raise KeyError(item)
            return saved

        return writer.submit(job)

    waits = writer.submit(lambda _: gate.wait(60))
    jobs = [save(1, False), save(2, True), save(99, False), save(3, False)]  # no item has the number 99
    gate.set()
    assert waits.result(60)
    assert [type(job.exception(60)).__name__ for job in jobs] == [
        "NoneType",
        "KeyError",
        "IntegrityError",
        "NoneType",
    ]
    writer.close()
    assert (project.progress(ann).done, project.progress(ann).total_done) == (2, 2)


def test_an_item_and_its_answer_cost_few_round_trips(project: Small, tmp_path: Path) -> None:
    """A message and its answer take longer than PostgreSQL takes to do what it says, above all over a network."""
    ann, writer = project.user("ann"), Writer(project.database)
    save = Save(ann, 1, POSITIVE, NOW, request_id="r1")
    writer.start()
    with (tmp_path / "trace").open("w+") as trace:

        def trips(function: Any) -> int:
            """How often the server has said that it is ready for what comes next."""
            trace.seek(0)
            trace.truncate()
            writer.call(function)
            trace.seek(0)
            return trace.read().count("ReadyForQuery")

        writer.call(lambda conn: conn.connection.driver_connection.pgconn.trace(trace.fileno()))
        assert trips(lambda conn: assignments.next_item(conn, ann, NOW, project.rules)) <= 8
        assert trips(lambda conn: annotations.save(conn, save, project.rules)) <= 5
        writer.call(lambda conn: conn.connection.driver_connection.pgconn.untrace())
    writer.close()


def test_what_json_cannot_say_becomes_null(project: Small) -> None:
    value: Any = {"a": [float("nan"), 1.5, (float("-inf"),)], "b": 1e308}
    with project.database.write() as conn:
        facts.put(conn, "value", value)
    assert project.read(facts.get, "value") == {"a": [None, 1.5, [None]], "b": 1e308}


def test_each_test_gets_an_empty_schema_of_a_real_server(postgres: Postgres, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as conn:
        assert conn.execute("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()").fetchone() == (0,)
        conn.execute("CREATE TABLE mine (n int)")
    assert postgres.admin("SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = 'potato'") == [(False, False)]


def test_a_number_goes_to_sqlite_with_every_digit(postgres_url: str, tmp_path: Path) -> None:
    """Among them two of which SQLite, given their text, makes the number beside."""
    numbers = [0.52308216292477, -135.8154514578912, 52.520006599999995, 6.469341719679475e-19, 1e300, 7, -0.5, 10**15]
    with contextlib.closing(Database(postgres_url)) as source:
        source.migrate()
        with source.write() as conn:
            for place, number in enumerate([*numbers, numbers, "1.5", None]):
                facts.put(conn, f"n{place}", number)
    snapshot.copy(postgres_url, tmp_path / "copy.db")
    with contextlib.closing(Database(f"sqlite:///{tmp_path / 'copy.db'}")) as copy, copy.read() as conn:
        assert [facts.get(conn, f"n{place}") for place in range(len(numbers) + 3)] == [*numbers, numbers, "1.5", None]
