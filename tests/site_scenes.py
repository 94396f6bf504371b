"""A served project with items, for tests of the annotators' and the admin's pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from potato.app import create_app
from potato.items.loading import load_items
from potato.project import Project
from potato.project.models import ProjectFile
from potato.store import Database
from potato.tasks import TaskRunner

KEY = "an-admin-key"
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
    "required": False,
    "labels": ["food", "service"],
}
STARS = {"annotation_type": "likert", "name": "stars", "description": "How many stars?", "size": 5, "required": False}
PAGE = {"Accept": "text/html"}


def project(
    folder: Path, texts: list[str] | None = None, *, rows: list[dict[str, Any]] | None = None, **config: Any
) -> Project:
    """A project of three questions over `texts`, ids `i1`, `i2`, ..., or over `rows`; its items are in the store."""
    rows = rows or [{"id": f"i{n}", "text": text} for n, text in enumerate(texts or ["one", "two", "three"], 1)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    settings = {
        "annotation_task_name": "Reviews",
        "data_files": ["items.jsonl"],
        "admin_api_key": KEY,
        "annotation_schemes": [SENTIMENT, TOPICS, STARS],
        **config,
    }
    file = folder / "config.yaml"
    file.write_text(json.dumps(settings), "utf-8")  # JSON is YAML
    made = Project(file, ProjectFile.model_validate(settings))
    database = Database(made.database_url)
    database.migrate()
    load_items(made, database)
    database.close()
    return made


@contextmanager
def served(project: Project, *, tasks: TaskRunner | None = None, **client: Any) -> Iterator[TestClient]:
    """A client of the served project. Its child process for long work is started only when passed in."""
    app = create_app(project, tasks=tasks or TaskRunner(project))
    with TestClient(app, raise_server_exceptions=False, follow_redirects=False, **client) as made:
        yield made


def sign_in(client: TestClient, name: str = "ann") -> None:
    """Sign in as an annotator, as a script does."""
    answer = client.post("/sign-in", data={"name": name})
    assert answer.status_code == 200, answer.text


def hand_out(client: TestClient) -> int:
    """Take the next item; its number."""
    answer = client.get("/annotate")
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].rsplit("/", 1)[1])


def save(client: TestClient, item: int, answers: dict[str, Any], request_id: str = "request-1", **body: Any) -> Any:
    """Save answers as the page does, and give the response."""
    body = {"request_id": request_id, "annotator": "ann", "answers": answers, **body}
    return client.post(f"/annotate/{item}/answers", json=body, headers={"Sec-Fetch-Site": "same-origin"})
