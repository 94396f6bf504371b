"""A served lab with agents whose every part may be killed, for many runs, one after another."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from agent_scene import API, BACKEND, RunningAgent, Served, agent_lab
from hostile_proxy import NONE, HostileProxy
from keepers import keepers_of, left_of
from potato.training.agents.tokens import register
from potato.training.worker import launch

LIMIT = 120.0
BRIEF = "brief"
SILENCE_S = {BACKEND: 100, BRIEF: 8}
"""After how long a backend's agent is missed, and after how long the agent gives the server up."""


class House:
    """A served lab with two backends, the way to it, and their agents. What was killed is started again."""

    def __init__(self, folder: Path, hold: Path) -> None:
        self.folder = folder
        self.hold = hold
        backends = {name: {"type": "agent", "heartbeat_timeout_s": seconds} for name, seconds in SILENCE_S.items()}
        writeback = {"schemas": ["sentiment"], "include_unlabeled": True}
        self.lab = agent_lab(folder / "lab", model_training={"backends": backends, "writeback": writeback})
        self.server = self._serve(None)
        self.proxy = HostileProxy(self.server.port)
        self.tokens = {name: register(self.lab.project, name) for name in backends}
        self.agents: dict[str, RunningAgent] = {}

    def _serve(self, port: int | None) -> Served:
        offered = {"report_every_s": 0.2, "give_up_s": "heartbeat_timeout_s"}
        return Served(self.lab, port, tasks="held_tasks", **offered)

    def file(self, name: str) -> Path:
        """A file that something waits for, or that holds it, by being there."""
        return self.hold / name

    def attempt(self, run_id: str, number: int = 1) -> Path:
        """An attempt's folder on the training machine."""
        return self.folder / "work" / "jobs" / run_id / f"attempt-{number}"

    def start(self, backend: str) -> None:
        """Start what does not run: the server, and the backend's agent."""
        if self.server.process.poll() is not None:
            self.server = self._serve(self.server.port)
        agent = self.agents.get(backend)
        if agent is None or agent.process.poll() is not None:
            self.agents[backend] = RunningAgent(
                self.proxy.url,
                self.tokens[backend],
                self.folder / "work",
                backend=backend,
                program="quick_agent",
                POTATO_FAKES_WAIT=str(self.file("import")),
            )

    def kill(self, who: str, backend: str, run_id: str) -> None:
        """SIGKILL."""
        if who == "server":
            self.server.kill()
        elif who == "agent":
            self.agents[backend].kill()
        elif who == "keeper":
            for pid in keepers_of(run_id):
                os.kill(pid, signal.SIGKILL)
        else:
            worker = launch.read(str(self.attempt(run_id)))
            assert worker is not None and launch.alive(worker)
            os.kill(worker.pid, signal.SIGKILL)

    def settle(self, backend: str, run_id: str) -> None:
        """Whatever a test has done: the next one finds everything alive, and nothing that goes on or waits."""
        self.proxy.faults = lambda request: NONE
        self.proxy.let_go()
        self.start(backend)
        if self.server.run(run_id)["state"] not in ("success", "error", "cancelled"):
            self.server.http.post(f"{API}/runs/{run_id}/cancel")
            self.server.finished(run_id, LIMIT)

    def close(self) -> None:
        self.proxy.close()
        for agent in self.agents.values():
            agent.kill()
        self.server.close()
        for job in (self.folder / "work" / "jobs").glob("*"):  # where a test failed
            for pid in left_of(job.name):
                os.kill(pid, signal.SIGKILL)
