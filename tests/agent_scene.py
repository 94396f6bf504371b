"""A lab with an agent backend, served over HTTP by a process of its own, and a real agent, for tests."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from lab import Lab, wait_for
from ports import free_port
from potato.app import create_app
from potato.tasks import TaskRunner
from potato.training.agents.tokens import register
from potato.training.backends import agent as backend
from potato.training.runs.notifier import Notifier

BACKEND = "lab-workstation"
API = "/admin/training/api"
KEY = {"X-API-Key": "lab-key"}


def agent_lab(folder: Path, **settings: Any) -> Lab:
    """Sixty items, labelled, and an agent backend with `settings`; `model_training` takes further keys of its own.
    `items` and `labels` (item id → answer) may be others, and `project` has further keys of the project file."""
    training, items = settings.pop("model_training", {}), settings.pop("items", 60)
    project = settings.pop("project", {})
    labels = settings.pop("labels", None)
    backend = {"type": "agent", "heartbeat_timeout_s": 5, **settings}
    training = {"backends": {BACKEND: backend}, "grace_seconds": 2, **training}
    lab = Lab(folder, items, **project, model_training=training)
    if labels is None:
        lab.label_alternately()
    else:
        lab.label({item: labels[item] for item in lab.ids if item in labels})
    return lab


class Served:
    """A server process of a lab. `settings` are those of `serve`."""

    def __init__(self, lab: Lab, port: int | None = None, **settings: Any) -> None:
        self.lab = lab
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        command = [sys.executable, __file__, str(lab.folder), str(self.port), json.dumps(settings)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE)
        self.http = httpx.Client(base_url=self.url, headers=KEY, timeout=30)
        try:
            wait_for(self._answers, 120)
        except BaseException:
            self.kill()
            raise

    def _answers(self) -> bool:
        assert self.process.poll() is None
        try:
            return self.http.get(f"{API}/status").status_code == 200
        except httpx.TransportError:
            return False

    def submit(self, trainer: str = "fake", backend: str = BACKEND, scheme: str = "sentiment", **params: Any) -> str:
        """Queue a run; its id."""
        body = {"trainer": trainer, "schemas": [scheme], "backend": backend, "params": params}
        answer = self.http.post(f"{API}/runs", json=body)
        assert answer.status_code == 202, answer.text
        run_id: str = answer.json()["run_id"]
        return run_id

    def run(self, run_id: str) -> dict[str, Any]:
        """The run, as the API tells it."""
        answer: dict[str, Any] = self.http.get(f"{API}/runs/{run_id}").json()
        return answer

    def log(self, run_id: str) -> str:
        """The run's log."""
        return self.http.get(f"{API}/runs/{run_id}/log").text

    def finished(self, run_id: str, limit: float = 120.0) -> dict[str, Any]:
        """The run, once it has ended."""

        def look() -> dict[str, Any] | None:
            run = self.run(run_id)
            return run if run["state"] in ("success", "error", "cancelled") else None

        run: dict[str, Any] = wait_for(look, limit)
        return run

    def in_state(self, run_id: str, state: str, limit: float = 120.0) -> dict[str, Any]:
        """The run, once it is in `state`."""

        def look() -> dict[str, Any] | None:
            run = self.run(run_id)
            return run if run["state"] == state else None

        run: dict[str, Any] = wait_for(look, limit)
        return run

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        """Have it end in order, where it still lives."""
        self.http.close()
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=90)


class RunningAgent:
    """A real agent process. `behind` stands before its command line; `env` is added to its environment; `program` is
    the module that it is, e.g. `quick_agent`, and `python` its interpreter."""

    def __init__(
        self,
        url: str,
        token: str,
        workdir: Path,
        *options: str,
        backend: str = BACKEND,
        behind: Sequence[str] = (),
        program: str = "potato.training.agent",
        python: str = sys.executable,
        **env: str,
    ) -> None:
        self.workdir = workdir
        self.log = workdir.with_suffix(".log")
        command = [*behind, python, "-m", program, "--server", url, "--backend", backend]
        command += ["--workdir", str(workdir), *options]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                env={**os.environ, "POTATO_TRAINING_TOKEN": token, **env},
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # tests in the background ignore it
            )

    def said(self) -> str:
        """What stands on its terminal."""
        return self.log.read_text("utf-8")

    def stop(self) -> int:
        """Ctrl-C; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(timeout=90)
        finally:
            self.process.kill()

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait(timeout=90)


@contextlib.contextmanager
def served(lab: Lab, port: int | None = None, **settings: Any) -> Iterator[Served]:
    """A server of the lab until the block ends."""
    server = Served(lab, port, **settings)
    try:
        yield server
    finally:
        server.close()


@contextlib.contextmanager
def agent(server_url: str, token: str, workdir: Path, *options: str, **more: Any) -> Iterator[RunningAgent]:
    """An agent until the block ends."""
    running = RunningAgent(server_url, token, workdir, *options, **more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()


def token_for(lab: Lab) -> str:
    """A new token of the lab's backend."""
    return register(lab.project, BACKEND)


def _time_of_day() -> datetime:
    return datetime.fromtimestamp(time.time(), timezone.utc)  # by way of `time.time`, which tests shift


def serve(folder: Path, port: int, tasks: str = "potato.tasks", **offered: Any) -> None:
    """Serve the lab in `folder` until stdin ends. `tasks` is the module that does the long work. `offered` stands in
    each job that an agent gets, such as `give_up_s`; a text names another field of the job."""
    offer = backend.offer

    def offer_otherwise(*args: Any, **more: Any) -> dict[str, Any]:
        job = offer(*args, **more)
        return {**job, **{name: job.get(value, value) for name, value in offered.items()}}

    backend.offer = offer_otherwise
    notifier, project = Notifier(), Lab.again(folder).project
    runner = TaskRunner(project, tasks)
    runner.start()
    app = create_app(project, notifier=notifier, tasks=runner, clock=_time_of_day)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning"))

    def end_with_stdin() -> None:
        sys.stdin.read()
        notifier.close()  # as `potato start` does, so that no long poll holds the end up
        server.should_exit = True

    threading.Thread(target=end_with_stdin, daemon=True).start()
    server.run()
    runner.close()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), **json.loads(sys.argv[3]))
