"""A served project with a real store, and a supervisor that takes requests but starts nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import training_scenes as scenes
from potato.app import create_app
from potato.project import Project
from potato.store import Database, Writer
from potato.tasks import TaskRunner
from potato.training.runs import open_supervisor
from potato.training.runs.notifier import Notifier


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return scenes.project(tmp_path)


@pytest.fixture
def notifier() -> Notifier:
    return Notifier()


@pytest.fixture
def database(project: Project) -> Iterator[Database]:
    database = Database(project.database_url)
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def client(project: Project, database: Database, notifier: Notifier) -> Iterator[TestClient]:
    """An admin by key. Runs stay queued: the supervisor's thread was never started."""
    writer = Writer(database)
    writer.start()
    tasks = TaskRunner(project)
    supervisor = open_supervisor(project, database, writer, notifier, tasks)
    app = create_app(project, supervisor=supervisor, tasks=tasks, notifier=notifier, clock=lambda: scenes.NOW)
    with TestClient(app, headers={"X-API-Key": scenes.KEY}, raise_server_exceptions=False) as client:
        yield client
    writer.close()
