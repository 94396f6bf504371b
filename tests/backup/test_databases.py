"""A backup's form is the same for both databases: it moves a project between them, and loses nothing on the way."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Text, cast, insert, select, text
from sqlalchemy.sql.sqltypes import JSON

from lab import Lab, finished, use_fakes, wait_for
from potato.backup import restore, save
from potato.backup.layout import BadBackup
from potato.backup.restoring import SQLITE
from potato.project import Project
from potato.project.loading import load_or_raise
from potato.store import Database, tables, users
from potato.store.clock import utc_now
from potato.store.databases import snapshot
from potato.store.databases.transfer import NotTaken, StoreFilled
from potato.store.databases.unreachable import StoreUnsuitable
from potato.training.runs.request import RunRequest

ODD = [
    {"id": "i0", "text": "naïve 👩‍👧 \u202er tab\tnew\nline \\. \\N end", "n": 5, "deep": {"a": [1.5, None, "\0 😀"]}},
    {"id": "i1", "text": "", "image": "x.png", "n": 1e300},
    *({"id": f"i{number}", "text": f"text {number}", "n": number} for number in range(2, 60)),
]  # fmt: skip


def rows(project: Project) -> dict[str, list[Any]]:
    """Everything in a project's store, as Python reads it, and of JSON whether it is null or not there."""
    database = Database(project.database_url)
    try:
        with database.read() as conn:
            return {name: sorted(map(str, conn.execute(_all(table)))) for name, table in tables.metadata.tables.items()}
    finally:
        database.close()


def _all(table: Any) -> Any:
    nothing = [cast(each, Text).is_(None) for each in table.columns if isinstance(each.type, JSON)]
    return select(*table.columns, *nothing)


@pytest.fixture
def full(tmp_path: Path) -> Lab:
    """A project in a SQLite file, with labels, and an answer for each kind of JSON."""
    lab = Lab(tmp_path / "lab", ODD, bad_rows="skip", database_url=f"sqlite:///{tmp_path / 'lab' / 'own.db'}")
    lab.ids = [row["id"] for row in ODD if row["text"]]
    lab.label_alternately()
    for scheme, answer in {"a": 5, "b": 0.5, "c": None, "d": True, "e": "5", "f": {"x": [1, "ü"]}}.items():
        lab.label({"i2": answer}, scheme)
    return lab


def test_a_study_moves_to_postgresql_and_back(
    full: Lab, tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_fakes(monkeypatch)
    with full.supervisor() as supervisor:
        finished(supervisor, supervisor.submit(RunRequest("fake", ["sentiment"])).run_id)
    before = rows(full.project)
    assert len(before["predictions"]) and len(before["annotations"]) == 65
    save(full.project, tmp_path / "1.tar.gz")
    moved = restore(tmp_path / "1.tar.gz", tmp_path / "moved", postgres_url)
    there = load_or_raise(moved.file)
    assert there.database_url == postgres_url
    assert rows(there) == before
    assert (moved.items, moved.annotations, moved.runs, moved.changed_texts) == (59, 65, 1, 0)
    save(there, tmp_path / "2.tar.gz")
    back = load_or_raise(restore(tmp_path / "2.tar.gz", tmp_path / "back", SQLITE).file)
    assert back.config.database_url is None
    assert rows(back) == before
    assert [path.name for path in back.runs_dir.iterdir()] == [path.name for path in full.project.runs_dir.iterdir()]


def test_numbers_that_the_database_gives_go_on(full: Lab, tmp_path: Path, postgres_url: str) -> None:
    save(full.project, tmp_path / "1.tar.gz")
    moved = load_or_raise(restore(tmp_path / "1.tar.gz", tmp_path / "moved", postgres_url).file)
    database = Database(moved.database_url)
    try:
        with database.write() as conn:
            known = conn.execute(select(tables.users.c.id)).scalars().all()
            assert users.ensure(conn, "new", utc_now()) == max(known) + 1
    finally:
        database.close()


def test_a_database_that_holds_a_project_is_left_alone(full: Lab, tmp_path: Path, postgres_url: str) -> None:
    save(full.project, tmp_path / "1.tar.gz")
    moved = load_or_raise(restore(tmp_path / "1.tar.gz", tmp_path / "moved", postgres_url).file)
    before = rows(moved)
    with pytest.raises(StoreFilled, match="holds a project already") as refused:
        restore(tmp_path / "1.tar.gz", tmp_path / "again", postgres_url)
    assert "potato:potato" not in refused.value.message
    assert rows(moved) == before
    assert not (tmp_path / "again").exists()


def test_nul_is_told_and_what_is_refused_leaves_nothing(full: Lab, tmp_path: Path, postgres_url: str) -> None:
    with full.database.write() as conn:
        conn.execute(tables.items.update().where(tables.items.c.id == "i2").values(text="a\0b\0"))
    save(full.project, tmp_path / "1.tar.gz")
    with full.database.write() as conn:  # SQLite's integers are as long as they need to be
        conn.execute(tables.items.update().where(tables.items.c.id == "i3").values(line=2**40))
    save(full.project, tmp_path / "2.tar.gz")
    with pytest.raises(NotTaken, match=r"table items: .*out of range"):
        restore(tmp_path / "2.tar.gz", tmp_path / "moved", postgres_url)
    assert not (tmp_path / "moved").exists()
    restored = restore(tmp_path / "1.tar.gz", tmp_path / "moved", postgres_url)  # the database is as empty as it was
    assert restored.changed_texts == 1
    assert any("a\ufffdb\ufffd" in row for row in rows(load_or_raise(restored.file))["items"])


@pytest.fixture
def saving(tmp_path: Path, postgres_url: str) -> Iterator[Lab]:
    """A project in PostgreSQL; a thread labels all of its items, again and again, each time as one transaction."""
    lab, stop = Lab(tmp_path / "lab", database_url=postgres_url), threading.Event()

    def label() -> None:
        number = 0
        while not stop.is_set():
            lab.label_alternately(user=f"user {number}")
            number += 1

    busy = threading.Thread(target=label)
    busy.start()
    try:
        yield lab
    finally:
        stop.set()
        busy.join()
        lab.database.close()


def test_it_is_of_one_instant_while_annotators_save(saving: Lab, tmp_path: Path) -> None:
    saved = []
    for number in range(3):
        wait_for(lambda: answers(saving) > (saved[-1] if saved else 0))
        saved.append(save(saving.project, tmp_path / f"{number}.tar.gz").annotations)
        restored = restore(tmp_path / f"{number}.tar.gz", tmp_path / f"new{number}", SQLITE)
        found = rows(load_or_raise(restored.file))
        assert len(found["annotations"]) == saved[-1] == 60 * len(found["users"])
    assert answers(saving) > 0 and saved == sorted(set(saved))


def answers(lab: Lab) -> int:
    """How many answers there are by now."""
    return len(lab.rows(select(tables.annotations.c.seq)))


def test_a_backup_of_an_older_version_is_brought_up_to_date(tmp_path: Path, postgres_url: str) -> None:
    old = Database(postgres_url)
    old.migrate("0001")
    with old.write() as conn:
        conn.execute(insert(tables.facts), {"name": "x", "value": 1})
    old.close()
    lab = Lab(tmp_path / "lab")
    lab.write({**lab.config, "database_url": postgres_url})
    lab.database = Database(postgres_url)
    save(lab.project, tmp_path / "1.tar.gz")
    assert lab.rows(text("SELECT version_num FROM alembic_version")) == [("0001",)]  # the database itself is as it was
    lab.database.close()
    restored = load_or_raise(restore(tmp_path / "1.tar.gz", tmp_path / "new", SQLITE).file)
    assert rows(restored)["facts"] == ["('x', 1, False)"]


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.db"
    lab = Lab(tmp_path / "lab", database_url=f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as store:
        store.execute("UPDATE alembic_version SET version_num = '9999'")
        store.commit()
    with pytest.raises(StoreUnsuitable, match="was made by a newer version of Potato"):
        save(lab.project, tmp_path / "1.tar.gz")
    with monkeypatch.context() as newer:
        newer.setattr(snapshot, "look", lambda store: snapshot.Contents(0, 0, []))
        save(lab.project, tmp_path / "1.tar.gz")
    with pytest.raises(BadBackup, match="made by a newer version of Potato"):
        restore(tmp_path / "1.tar.gz", tmp_path / "new")
    assert not (tmp_path / "new").exists()
