"""Several real `potato start` processes of one project on one PostgreSQL, for tests."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from lab import SENTIMENT, wait_for
from ports import free_port

API = "/admin/training/api"
KEY = {"X-API-Key": "lab-key"}
OVER = ("success", "error", "cancelled")


def write_project(folder: Path, url: str, items: int = 60, **training: Any) -> Path:
    """A project of `items` items, none of which is in the store yet; its file."""
    rows = [{"id": f"i{n}", "text": f"text {n}"} for n in range(items)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    config = {
        "annotation_task_name": "Lab",
        "data_files": ["items.jsonl"],
        "annotation_schemes": [SENTIMENT],
        "admin_api_key": "lab-key",
        "database_url": url,
        "model_training": {"enabled": True, "grace_seconds": 2, **training},
    }
    file = folder / "config.yaml"
    file.write_text(json.dumps(config), "utf-8")
    return file


class Member:
    """One of the servers; `{port}` in an option stands for its own."""

    def __init__(self, file: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.said = file.with_name(f"said-{self.port}")
        command = [sys.executable, "-m", "potato", "start", str(file), "--port", str(self.port)]
        command += [option.format(port=self.port) for option in options]
        with self.said.open("wb") as said:
            self.process = subprocess.Popen(command, stdout=said, stderr=said)
        self.http = httpx.Client(base_url=self.url, headers=KEY, timeout=60)

    def health(self) -> dict[str, Any]:
        """What `/healthz` says; empty while there is no answer, or a bad one."""
        assert self.process.poll() is None, self.said.read_text("utf-8")
        with suppress(httpx.TransportError):
            answer = self.http.get("/healthz")
            if answer.status_code == 200:
                found: dict[str, Any] = answer.json()
                return found
        return {}

    @property
    def supervises(self) -> bool:
        """Whether it says that it is the one."""
        return self.health().get("role") == "supervisor"

    def ask(self, method: str, path: str, status: int = 200, **more: Any) -> Any:
        """A request's JSON; asked again while the answer is 503."""

        def answer() -> httpx.Response | None:
            with suppress(httpx.TransportError):
                found = self.http.request(method, path, **more)
                if found.status_code != 503:
                    return found
                assert int(found.headers["retry-after"]) > 0
                assert found.json()["hint"]
            return None

        got = wait_for(answer, 90)
        assert got.status_code == status, got.text
        return got.json()

    def submit(self, backend: str = "local", **params: Any) -> str:
        """Queue a run of the fake trainer; its id."""
        body = {"trainer": "fake", "schemas": ["sentiment"], "backend": backend, "params": params}
        run_id: str = self.ask("POST", f"{API}/runs", 202, json=body)["run_id"]
        return run_id

    def run(self, run_id: str) -> dict[str, Any]:
        """The run, as this server tells it."""
        run: dict[str, Any] = self.ask("GET", f"{API}/runs/{run_id}")
        return run

    def in_state(self, run_id: str, *states: str, limit: float = 120) -> dict[str, Any]:
        """The run, once it is in one of these states."""

        def look() -> dict[str, Any] | None:
            run = self.run(run_id)
            assert run["state"] in states or run["state"] not in OVER, run
            return run if run["state"] in states else None

        run: dict[str, Any] = wait_for(look, limit)
        return run

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()
        self.process.wait(60)
        self.http.close()

    def close(self) -> None:
        """Have it end in order, where it still lives, and leave none of its children."""
        if self.process.poll() is None:
            children = psutil.Process(self.process.pid).children(recursive=True)
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(60)
            for child in children:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        self.kill()


@contextmanager
def members(file: Path, count: int = 2, *options: str) -> Iterator[list[Member]]:
    """That many servers, begun at the same moment; the one that supervises comes first."""
    started: list[Member] = []
    try:
        started += [Member(file, *options) for _ in range(count)]
        wait_for(lambda: all(member.health().get("elected") for member in started), 120)
        yield sorted(started, key=lambda member: not member.supervises)
    finally:
        for member in started:
            member.close()
