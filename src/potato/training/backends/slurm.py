"""The `slurm` backend: a cluster whose login node the server logs in to. The agent there hands the worker to SLURM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from potato.errors import PotatoError
from potato.project.backends import SlurmBackend as Settings
from potato.training.agent.slurm.settings import KEYS
from potato.training.backends.base import CheckReport, Job
from potato.training.backends.notes import Notes
from potato.training.backends.place import Place
from potato.training.backends.ssh import LoginBackend
from potato.training.backends.ssh_check import SshCheck
from potato.training.ssh.session import Session
from potato.training.ssh.text import clean

NEEDED = ("sbatch", "squeue", "scancel")


class CannotSubmit(PotatoError):
    """The machine that the server logs in to is no login node of a cluster, as far as can be seen."""

    code = "cannot_submit"
    status = 502


class SlurmBackend(LoginBackend[Settings]):
    """One entry of `model_training.backends` with `type: slurm`."""

    def check(self, trainer: str | None) -> CheckReport:
        """Everything that a run does before it submits. What compute nodes have cannot be seen from there."""
        return SlurmCheck(self).run()

    def prepare(self, session: Session, job: Job, notes: Notes) -> Place:
        """See `Way`. The scheduler chooses node and GPU."""
        must_submit(session, self.settings.host)
        return Place()

    def offer(self, job: Job, attempt: int, packed: Mapping[str, Any]) -> dict[str, Any]:
        """See `Way`."""
        return {**super().offer(job, attempt, packed), "slurm": self._slurm()}

    def _slurm(self) -> dict[str, Any]:
        """The settings that concern the job. Its interpreter is `python` where `job_python` names none."""
        asked = {key: value for key in KEYS if (value := getattr(self.settings, key)) is not None}
        return {"job_python": self.settings.python, **asked}


class SlurmCheck(SshCheck):
    """The check of a login node."""

    def __init__(self, backend: SlurmBackend) -> None:
        super().__init__(cast(Any, backend), None)  # its GPUs are never asked for
        self._slurm = backend

    def _look(self, session: Session) -> bool:
        settings = self._slurm.settings
        found = must_submit(session, settings.host)
        self.lines.append(f"SLURM: {', '.join(found[name] or '' for name in NEEDED)}")
        if found["scontrol"] is None:
            self.lines.append("there is no scontrol; a job's end is judged without it")
        python = settings.job_python or settings.python
        self.lines.append(f"jobs run with {python}; what the compute nodes have is seen by the first run alone")
        self.details["slurm"] = found
        self.details["job_python"] = python
        return True


def must_submit(session: Session, host: str) -> dict[str, str | None]:
    """Where SLURM's programs are there. Raises `CannotSubmit`, `HostFailed`, `HostSilent`, `Lost`."""
    answer = session.call("slurm")
    found = {name: clean(answer[name], 1000) if answer.get(name) else None for name in (*NEEDED, "scontrol")}
    for name in NEEDED:
        if found[name] is None:
            raise CannotSubmit(
                f"{host} has no {name} on PATH, so it cannot submit jobs",
                hint="it is no login node, or a login shell alone sets PATH: set PATH under the backend's env",
            )
    if answer.get("shared") is False:
        raise CannotSubmit(
            f"remote_dir is under /tmp or /var/tmp on {host}, which compute nodes do not share",
            hint="set remote_dir to a folder on storage that login and compute nodes share",
        )
    return found
