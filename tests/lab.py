"""A small project with items and labels in a temporary folder, and a supervisor of its runs, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from potato.items.loading import load_items
from potato.project import Project
from potato.project.models import ProjectFile
from potato.store import Database, Writer, tables
from potato.store.clock import to_text
from potato.store.training import runs
from potato.store.training.runs import Run
from potato.tasks import TaskRunner
from potato.training.runs import open_supervisor
from potato.training.runs.folder import RunFolder
from potato.training.runs.notifier import Notifier
from potato.training.runs.request import RunRequest
from potato.training.runs.supervisor import Supervisor
from potato.training.runs.timing import Timing

FAKES = Path(__file__).parent / "fakes"

SENTIMENT = {
    "annotation_type": "radio",
    "name": "sentiment",
    "description": "Is it positive?",
    "labels": ["positive", "negative"],
}

FAST = Timing(poll=0.01, limits=0.1, linger=1.0)


def use_fakes(monkeypatch: Any) -> None:
    """Let this process, and those that it starts, find the fake trainers."""
    monkeypatch.syspath_prepend(str(FAKES))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAKES), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep))


class Lab:
    """A project in `folder`. `items` are rows with at least `id` and `text`; ids `i0`, `i1`, ... by default."""

    def __init__(self, folder: Path, items: int | list[dict[str, Any]] = 60, **config: Any) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        rows = items if isinstance(items, list) else [{"id": f"i{n}", "text": f"text {n}"} for n in range(items)]
        (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        self.ids = [row["id"] for row in rows]
        self.config: dict[str, Any] = {
            "annotation_task_name": "Lab",
            "data_files": ["items.jsonl"],
            "annotation_schemes": [SENTIMENT],
            "admin_api_key": "lab-key",
            **config,
            "model_training": {"enabled": True, "grace_seconds": 2, **config.get("model_training", {})},
        }
        self.write(self.config)
        self.database = Database(self.project.database_url)
        self.database.migrate()
        load_items(self.project, self.database)

    def write(self, config: dict[str, Any]) -> None:
        """Make `config` the project file's content."""
        file = self.folder / "config.yaml"
        file.write_text(json.dumps(config), "utf-8")  # JSON is YAML
        self.config = config
        self.project = Project(file, ProjectFile.model_validate(config))

    @classmethod
    def again(cls, folder: Path) -> Lab:
        """The lab that is in `folder` already."""
        lab = cls.__new__(cls)
        lab.folder = folder
        lab.config = json.loads((folder / "config.yaml").read_text("utf-8"))
        lab.project = Project(folder / "config.yaml", ProjectFile.model_validate(lab.config))
        lab.database = Database(lab.project.database_url)
        return lab

    def label(self, answers: Mapping[str, Any], scheme: str = "sentiment", user: str = "ann") -> None:
        """Have `user` answer `scheme`: item id → answer."""
        now = to_text(datetime.now(timezone.utc))
        with self.database.write() as connection:
            users = dict(
                connection.execute(
                    tables.users.select().with_only_columns(tables.users.c.name, tables.users.c.id)
                ).all()
            )
            if user not in users:
                values = {"name": user, "is_admin": False, "created_at": now}
                users[user] = connection.execute(insert(tables.users).values(**values)).inserted_primary_key[0]
            seqs = dict(
                connection.execute(tables.items.select().with_only_columns(tables.items.c.id, tables.items.c.seq)).all()
            )
            rows = [
                {
                    "item": seqs[item],
                    "user": users[user],
                    "scheme": scheme,
                    "value": answer,
                    "at": now,
                    "source": "page",
                    "origin": "none",
                    "suggestion": None,
                    "elapsed_ms": None,
                }
                for item, answer in answers.items()
            ]
            if rows:
                connection.execute(insert(tables.annotations), rows)

    def label_alternately(self, ids: Iterable[str] | None = None, user: str = "ann") -> None:
        """Label items positive and negative in turn; all, unless `ids` says which."""
        chosen = list(self.ids if ids is None else ids)
        self.label({item: ("positive", "negative")[n % 2] for n, item in enumerate(chosen)}, user=user)

    def run(self, run_id: str) -> Run:
        """The run as it is recorded."""
        with self.database.read() as connection:
            return runs.get_or_raise(connection, run_id)

    def submit(self, trainer: str = "fake", **params: Any) -> str:
        """Queue a run as a server would that is killed at once; its id."""
        with self.supervisor(start=False, tasks=False) as supervisor:
            return supervisor.submit(RunRequest(trainer, ["sentiment"], params=params)).run_id

    def rows(self, query: Any) -> list[Any]:
        """What a query finds."""
        with self.database.read() as connection:
            return list(connection.execute(query).all())

    @contextmanager
    def supervisor(self, timing: Timing = FAST, start: bool = True, tasks: bool = True) -> Iterator[Supervisor]:
        """The project's supervisor, with all that it needs, as a server has it."""
        writer, runner = Writer(self.database), TaskRunner(self.project)
        writer.start()
        if tasks:
            runner.start()
        supervisor = open_supervisor(self.project, self.database, writer, Notifier(), runner, timing=timing)
        if start:
            supervisor.start()
        try:
            yield supervisor
        finally:
            if start:
                supervisor.close()
            if tasks:
                runner.close()
            writer.close()


def wait_for(condition: Callable[[], Any], limit: float = 90.0) -> Any:
    """The first true answer of `condition`, asked again and again; fails after `limit` seconds."""
    end = time.monotonic() + limit
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.01)


def model_on_its_way(folder: RunFolder) -> bool:
    """Whether the first bytes of a run's weights are here. Other folders of the run's may go while one looks."""
    for path, _, files in os.walk(folder.path):
        for name in files:
            with suppress(FileNotFoundError):
                if "weights" in name and (Path(path) / name).stat().st_size > 1000:
                    return True
    return False


def finished(supervisor: Supervisor, run_id: str, limit: float = 120.0) -> Run:
    """The run, once it has ended."""

    def look() -> Run | None:
        run = supervisor.get(run_id)
        return run if run.is_finished else None

    result: Run = wait_for(look, limit)
    return result


class Server:
    """A process that supervises a lab's runs, to be killed."""

    def __init__(self, lab: Lab) -> None:
        self.process = subprocess.Popen([sys.executable, __file__, str(lab.folder)], stdin=subprocess.PIPE)

    def kill(self) -> None:
        """SIGKILL: it gets no chance to do anything."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        """Have it end in order, where it still lives."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=90)


def serve(folder: Path) -> None:
    """Supervise the runs of the lab in `folder` until stdin ends."""
    with Lab.again(folder).supervisor():
        sys.stdin.read()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
