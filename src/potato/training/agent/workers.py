"""What a keeper looks after: a worker as a process of this machine, or as a job of SLURM's."""

import os
import time
from typing import Any, Dict, Mapping, Optional, Protocol

from potato.training.agent.folder import Attempt, JobFolder, read_json
from potato.training.agent.slurm.abandoned import cancel
from potato.training.agent.slurm.settings import recall
from potato.training.agent.slurm.worker import SlurmWorker
from potato.training.contract.exits import Exit
from potato.training.contract.spec import Spec
from potato.training.worker import launch, pressure
from potato.training.worker.launch import Launched

POLL_S = 0.1


class Worker(Protocol):
    """One attempt's worker. A keeper may be killed at any instant, and the next one goes on."""

    def find(self) -> bool:
        """Take over what an earlier keeper started; whether there was anything."""

    def start(self) -> None:
        """Start it, where there was nothing. Raises `OSError`."""

    def goes_on(self) -> bool:
        """Look after it; false once all of it is over. Called again and again."""

    def stop(self) -> None:
        """Ask it to end. Called once."""

    def kill(self) -> None:
        """End it, whatever it does: it was asked, and had its grace."""

    def record(self, reason: Optional[str]) -> Dict[str, Any]:
        """The end record, once it is over; `reason` is why it was asked to end."""


class ProcessWorker:
    """A process group of this machine."""

    def __init__(self, attempt: Attempt, spec: Spec, python: str, env: Mapping[str, str]) -> None:
        self._attempt = attempt
        self._spec = spec
        self._python = python
        self._env = env
        self._kills = pressure.kills()
        self._worker: Optional[Launched] = None
        self._killed = False

    def find(self) -> bool:
        """See `Worker.find`."""
        found = launch.read(self._attempt.path)
        while found is not None and not self._has_begun() and launch.alive(found):
            time.sleep(POLL_S)  # it was told to go on, or else it ends: either shows in a moment
        if found is not None and self._has_begun():
            self._worker = found
        return self._worker is not None

    def start(self) -> None:
        """See `Worker.start`."""
        path = os.path.join(self._attempt.path, "spec.json")
        self._spec.write(path)
        self._worker = launch.start(self._python, path, self._attempt.path, self._env)

    def goes_on(self) -> bool:
        """See `Worker.goes_on`."""
        assert self._worker is not None
        if not self._killed and launch.alive(self._worker):
            return True
        launch.terminate(self._worker, 0.0)  # it, and whatever it started and did not end
        return False

    def stop(self) -> None:
        """See `Worker.stop`."""
        assert self._worker is not None
        launch.signal_stop(self._worker)

    def kill(self) -> None:
        """See `Worker.kill`."""
        self._killed = True

    def record(self, reason: Optional[str]) -> Dict[str, Any]:
        """See `Worker.record`."""
        code = launch.exit_status(self._worker, self._attempt.path)
        return {
            "exit_code": code,
            "reason": None if code == Exit.FINISHED else reason,  # it was done before it was told
            "ran_out_of_memory": reason is None and code not in tuple(Exit) and pressure.kills() > self._kills,
        }

    def _has_begun(self) -> bool:
        return os.path.exists(os.path.join(self._attempt.path, "events.jsonl"))


def choose(folder: JobFolder, attempt: Attempt, order: Mapping[str, Any], spec: Spec) -> Worker:
    """The worker that a job's order asks for."""
    env = dict(os.environ, **(order.get("env") or {}))
    if order.get("slurm"):
        return SlurmWorker(folder, attempt, spec, str(order["python"]), env, recall(order["slurm"]))
    return ProcessWorker(attempt, spec, str(order["python"]), env)


def abandon(attempt: Attempt) -> None:
    """End what is left of an attempt that has no keeper."""
    worker = attempt.worker()
    if worker is not None:
        launch.terminate(worker, 0.0)
    order = read_json(os.path.join(os.path.dirname(attempt.path), "job.json")) or {}
    cancel(attempt.path, dict(os.environ, **(order.get("env") or {})))
