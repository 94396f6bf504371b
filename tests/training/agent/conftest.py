"""Agents for tests: in this process with short times, and as a process of their own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs import STRANGE, Item, environment, write_bundle
from potato.training.agent.agent import Agent
from potato.training.agent.client import Client
from potato.training.agent.course import Settings
from potato.training.agent.patience import Timing
from potato.training.agent.stop import Stop
from potato.training.agent.transport import HttpTransport
from standin import BACKEND, TOKEN, StandIn, pack

FAST = Timing(first_pause=0.01, longest_pause=0.1, poll=0.02, claim_wait=0.5, quick_claim=0.05, unsaid=0.0, leave=1.0)
ITEMS = [
    *(Item(f"t{n}", f"text {n}", "train", {"s": ("b", "a")[n % 2]}) for n in range(4)),
    Item("v", "val", "val", {"s": "a"}),
    Item("é/ü 1", "test", "test", {"s": "b"}),
    *(Item(f"p{n}", f"predict {n}", "predict") for n in range(3)),
]


class Here:
    """An agent in a thread of this process."""

    def __init__(self, url: str, workdir: Path, **more: Any) -> None:
        self.lines: list[str] = []
        self.stop = Stop()
        timing = more.pop("timing", FAST)
        settings = Settings(BACKEND, str(workdir), more.pop("python", sys.executable), "test", timing=timing, **more)
        self.agent = Agent(
            settings, lambda: Client(HttpTransport(url, {}), TOKEN, BACKEND), self.lines.append, self.stop
        )
        self.code: int | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.code = self.agent.run()

    def join(self, limit: float = 60) -> int | None:
        self._thread.join(limit)
        assert not self._thread.is_alive(), self.lines
        return self.code

    def close(self) -> None:
        self.stop.set()
        self.join()


class There:
    """An agent in a process of its own. Its terminal is the file `terminal`."""

    def __init__(self, url: str, workdir: Path, *arguments: str, python: str = sys.executable, **env: str) -> None:
        self.workdir = workdir
        self.terminal = workdir.parent / f"{workdir.name}.terminal"
        command = [python, "-m", "potato.training.agent", "--server", url, "--backend", BACKEND]
        whole = environment(**{"POTATO_TRAINING_TOKEN": TOKEN, **env})
        with self.terminal.open("ab") as output:
            self.process = subprocess.Popen(
                [*command, "--workdir", str(workdir), *arguments],
                env={name: value for name, value in whole.items() if value},
                stdout=output,
                stderr=output,
                cwd=workdir.parent,
            )

    def said(self) -> str:
        return self.terminal.read_text("utf-8", "replace")

    def interrupt(self) -> None:
        os.kill(self.process.pid, signal.SIGINT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def wait(self, limit: float = 60) -> int:
        code = self.process.wait(limit)
        assert "Traceback" not in self.said(), self.said()
        return code


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    write_bundle(tmp_path / "source", ITEMS, {"s": ("nominal", ["a", "b"])})
    return pack(tmp_path / "source")


@pytest.fixture
def here(standin: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Here]]:
    """Starts agents in this process."""
    monkeypatch.setenv("PYTHONPATH", str(STRANGE))
    started: list[Here] = []

    def start(**more: Any) -> Here:
        started.append(Here(standin.url, tmp_path / "work", **{"once": True, **more}))
        return started[-1]

    yield start
    for agent in started:
        agent.close()


@pytest.fixture
def there(standin: StandIn, tmp_path: Path) -> Iterator[Callable[..., There]]:
    """Starts agents in processes of their own."""
    started: list[There] = []

    def start(*arguments: str, **more: Any) -> There:
        workdir = more.pop("workdir", tmp_path / "work")
        started.append(There(more.pop("url", standin.url), workdir, *arguments, **more))
        return started[-1]

    yield start
    for agent in started:
        if agent.process.poll() is None:
            agent.kill()
