"""Small projects and stores for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from sqlalchemy import Text, cast, select

from potato.items.loading import load_items
from potato.project import Project
from potato.project.models import ProjectFile
from potato.store import Connection, Database, annotations, assignments, tables, users
from potato.store.rules import Rules

NOW = datetime(2026, 11, 29, 14, 15, tzinfo=timezone.utc)
SENTIMENT = {
    "annotation_type": "radio",
    "name": "sentiment",
    "description": "Is it positive?",
    "labels": ["positive", "negative"],
}
TOPICS = {
    "annotation_type": "multiselect",
    "name": "topics",
    "description": "What is it about?",
    "labels": ["price", "size", 'it\'s, "odd"'],
    "required": False,
}
SURE = {"annotation_type": "likert", "name": "sure", "description": "How sure are you?", "size": 5, "required": False}


def later(minutes: float = 0, seconds: float = 0) -> datetime:
    """A moment after `NOW`."""
    return NOW + timedelta(minutes=minutes, seconds=seconds)


def make_project(folder: Path, **config: Any) -> Project:
    """A project in `folder`: one radio scheme and `data.jsonl` unless `config` says otherwise."""
    settings = {
        "annotation_task_name": "Small",
        "data_files": ["data.jsonl"],
        "annotation_schemes": [SENTIMENT],
        **config,
    }
    file = folder / "config.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")
    return Project(file, ProjectFile.model_validate(settings))


def project_in(folder: Path) -> Project:
    """The project that was made in `folder`."""
    file = folder / "config.yaml"
    return Project(file, ProjectFile.model_validate_json(file.read_bytes()))


def write_rows(folder: Path, rows: Iterable[Any], name: str = "data.jsonl") -> Path:
    """`rows` as JSON lines."""
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def texts(count: int, first: int = 1) -> list[dict[str, str]]:
    """`count` items, each with its own text."""
    return [{"id": str(n), "text": f"text {n}"} for n in range(first, first + count)]


@contextmanager
def opened(project: Project) -> Iterator[Database]:
    """The project's store, with its tables."""
    database = Database(project.database_url)
    database.migrate()
    try:
        yield database
    finally:
        database.close()


class Small:
    """A loaded project and the few things tests do to it."""

    def __init__(self, project: Project, database: Database) -> None:
        self.project = project
        self.database = database
        self.rules = Rules.of(project)

    def user(self, name: str) -> int:
        with self.database.write() as conn:
            return users.ensure(conn, name, NOW)

    def next(self, user: int, at: datetime = NOW) -> int | assignments.NothingLeft:
        with self.database.write() as conn:
            return assignments.next_item(conn, user, at, self.rules)

    def save(self, user: int, item: int, answers: dict[str, Any], at: datetime = NOW, **more: Any) -> annotations.Saved:
        with self.database.write() as conn:
            return annotations.save(conn, annotations.Save(user, item, answers, at, **more), self.rules)

    def parse(self, scheme: str, raw: Any) -> Any:
        return self.project.schemes[scheme].parse(raw)

    def skip(self, user: int, item: int, reason: str | None = None, at: datetime = NOW) -> None:
        with self.database.write() as conn:
            assignments.skip(conn, user, item, reason, at, self.rules)

    def flag(self, user: int, item: int, reason: str | None) -> None:
        with self.database.write() as conn:
            assignments.flag(conn, user, item, reason)

    def progress(self, user: int) -> assignments.Progress:
        with self.database.read() as conn:
            return assignments.progress(conn, user)

    def write(self, function: Any, *args: Any) -> Any:
        with self.database.write() as conn:
            return function(conn, *args)

    def read(self, function: Any, *args: Any) -> Any:
        with self.database.read() as conn:
            return function(conn, *args)


@contextmanager
def small(folder: Path, items: int = 3, **config: Any) -> Iterator[Small]:
    """A project of so many items, loaded."""
    write_rows(folder, texts(items))
    project = make_project(folder, **config)
    with opened(project) as database:
        load_items(project, database)
        yield Small(project, database)


def history(conn: Connection) -> list[Any]:
    """Everything that was ever written, in order; answers as JSON."""
    wrote = tables.annotation_history.c
    columns = (wrote.item, wrote.user, wrote.scheme, cast(wrote.value, Text), wrote.source)
    return list(conn.execute(select(*columns).order_by(wrote.seq)))
