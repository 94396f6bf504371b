"""Which class serves which type of backend. A new type is a file and a line here."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from potato.project import Project
from potato.project.backends import AgentBackend as AgentSettings
from potato.project.backends import SlurmBackend as SlurmSettings
from potato.project.backends import SshBackend as SshSettings
from potato.training.agents.desk import Desk
from potato.training.backends.agent import AgentBackend
from potato.training.backends.base import Backend, Job, UnknownBackend
from potato.training.backends.menu import backend_type
from potato.training.backends.offer import Pack
from potato.training.backends.slurm import SlurmBackend
from potato.training.backends.ssh import SshBackend
from potato.training.ssh.timing import SshTiming


def open_backend(
    project: Project,
    name: str,
    desk: Desk | None = None,
    pack: Pack | None = None,
    ssh: SshTiming | None = None,
) -> Backend:
    """The project's backend of that name. `desk` and `pack` serve runs elsewhere; a check needs neither.

    Raises `UnknownBackend`.
    """
    if backend_type(project, name) is None:
        raise UnknownBackend(name, project)
    settings = project.config.model_training.backends.get(name)
    if isinstance(settings, AgentSettings):
        return AgentBackend(project, name, settings, desk or Desk(), pack or _no_runs)
    if isinstance(settings, SshSettings):
        return SshBackend(project, name, settings, pack or _no_runs, ssh)
    if isinstance(settings, SlurmSettings):
        return SlurmBackend(project, name, settings, pack or _no_runs, ssh)
    from potato.training.backends.local import LocalBackend

    return LocalBackend(project)


def _no_runs(job: Job) -> Future[Any]:
    raise AssertionError("this backend was opened for checks alone")
