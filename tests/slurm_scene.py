"""Agents on the login node of a real cluster, each with a stand-in for the server, for tests."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jobs import Item, write_bundle
from lab import wait_for
from potato.training.agent.agent import Agent
from potato.training.agent.client import Client
from potato.training.agent.course import Settings
from potato.training.agent.folder import Attempt, JobFolder
from potato.training.agent.patience import Timing
from potato.training.agent.slurm import note
from potato.training.agent.slurm.settings import SlurmTiming, parse
from potato.training.agent.stop import Stop
from potato.training.agent.transport import HttpTransport
from potato.training.contract.events import Event, read_lines
from potato.training.worker import processes
from standin import BACKEND, TOKEN, Run, StandIn, pack, serving

AGENT = Timing(first_pause=0.01, longest_pause=0.1, poll=0.02, claim_wait=0.5, quick_claim=0.05, unsaid=0.0, leave=1.0)
FAST = SlurmTiming(
    follow=0.1,
    soon=0.2,
    settle=10.0,
    settle_killed=2.0,
    gone=2.0,
    never=2.0,
    held=2.0,
    unsaid=1.0,
    longest_pause=1.0,
    misconfigured=2.0,
    finished=3.0,
    command=10.0,
    submit=15.0,
)
ITEMS = [
    *(Item(f"t{n}", f"text {n}", "train", {"s": ("b", "a")[n % 2]}) for n in range(4)),
    Item("v", "val", "val", {"s": "a"}),
    Item("é/ü 1", "test", "test", {"s": "b"}),
    *(Item(f"p{n}", f"predict {n}", "predict") for n in range(3)),
]
_numbers = iter(range(10**6))
only_in_full = pytest.mark.skipif("POTATO_FULL" not in os.environ, reason="takes long; set POTATO_FULL=1")


class Submitted:
    """One run, its own stand-in for the server, and the agents that see to it; keepers are processes of their own."""

    def __init__(self, standin: StandIn, workdir: Path, slurm: dict[str, Any], timing: SlurmTiming, **job: Any) -> None:
        workdir.mkdir()
        write_bundle(workdir / "source", ITEMS, {"s": ("nominal", ["a", "b"])})
        self.run_id = f"20261129T141500-{os.getpid()}-{next(_numbers)}"
        self.run: Run = standin.add(self.run_id, pack(workdir / "source"), **{"grace_seconds": 5, **job})
        self.attempt: Attempt = JobFolder(str(workdir), self.run_id).attempt(1)
        self.folder = Path(self.attempt.path)
        settings = parse({"poll_interval_s": 0.5, **slurm})
        self._settings = Settings(
            BACKEND,
            str(workdir),
            sys.executable,
            "test",
            once=True,
            timing=AGENT,
            slurm=replace(settings, timing=timing),
        )
        self.standin = standin
        self._agents: list[tuple[Stop, threading.Thread]] = []
        self.go_on()

    def go_on(self) -> None:
        """Start an agent that works for this run."""
        stop = Stop()
        clients = lambda: Client(HttpTransport(self.standin.url, {}), TOKEN, BACKEND)  # noqa: E731
        agent = Agent(self._settings, clients, lambda line: None, stop)
        thread = threading.Thread(target=agent.run)
        thread.start()
        self._agents.append((stop, thread))

    def stop_agent(self) -> None:
        """Ctrl-C."""
        for stop, _ in self._agents:
            stop.set()

    def cancel(self) -> None:
        """Cancel it on the server."""
        self.run.cancel = True

    # What there is of it

    def events(self) -> list[Event]:
        """The events that the server has."""
        return read_lines(bytes(self.run.files["events.jsonl"]))[0]

    def log(self) -> list[str]:
        """What the run's log shows of them, steps and messages alike."""
        told = (one.fields.get("step") or one.fields.get("msg") or one.fields.get("message") for one in self.events())
        return [str(line) for line in told if line]

    def error(self) -> dict[str, Any]:
        """The last error."""
        return [event.fields for event in self.events() if event.name == "error"][-1]

    def results(self) -> list[str]:
        """The status of each final record."""
        return [event.fields["status"] for event in self.events() if event.name == "result"]

    def says(self, text: str, limit: float = 60.0) -> str:
        """Wait for a line of its log with that text; the line."""

        def look() -> str | None:
            return next((line for line in self.log() if text in line), None)

        try:
            line: str = wait_for(look, limit)
        except AssertionError:
            raise AssertionError(self.log(), (self.folder / "keeper.log").read_text()) from None
        return line

    def ended(self, limit: float = 90.0) -> dict[str, Any]:
        """Its end record, once the server has it."""
        try:
            wait_for(lambda: self.run.result is not None, limit)
        except AssertionError:
            raise AssertionError(self.log(), (self.folder / "keeper.log").read_text()) from None
        assert self.run.result is not None
        return self.run.result

    def job_id(self) -> int:
        """Its job, once that has a number."""
        found = wait_for(lambda: (seen := note.recall(self.attempt.path)) and seen.job_id)
        assert isinstance(found, int)
        return found

    def keeper(self) -> int:
        """The pid of its keeper."""
        pid = wait_for(self.attempt._keeper_pid)
        assert isinstance(pid, int)
        return pid

    def close(self) -> None:
        """End its agents, and see that no keeper is left."""
        self.stop_agent()
        for _, thread in self._agents:
            thread.join(60)
            assert not thread.is_alive(), self.log()
        left = keepers_of(self.run_id)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        assert left == [], "a keeper was left running"


class Login:
    """The login node: runs are submitted from here, several at once if need be. `folder` is shared storage."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self.folder = folder
        self.submitted: list[Submitted] = []
        self._stack = stack

    def submit(self, slurm: dict[str, Any] | None = None, timing: SlurmTiming = FAST, **job: Any) -> Submitted:
        """Queue a run with these slurm settings; an agent sees to it."""
        standin = self._stack.enter_context(serving())
        workdir = self.folder / str(len(self.submitted))
        self.submitted.append(Submitted(standin, workdir, slurm or {}, timing, **job))
        return self.submitted[-1]

    def close(self) -> None:
        """End every agent."""
        for one in self.submitted:
            one.close()


def keepers_of(run_id: str) -> list[int]:
    """The keepers of a run that live."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            command = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
            if b"potato.training.agent.keeper" in command and run_id.encode() in command:
                there = processes.stat(int(folder.name))
                if there is not None and there.lives:
                    found.append(there.pid)
    return found
