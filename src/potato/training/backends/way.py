"""What a run on a machine that the server logs in to needs of its backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from potato.project.backends import SlurmBackend, SshBackend
from potato.training.backends.base import Job
from potato.training.backends.notes import Notes
from potato.training.backends.place import Place
from potato.training.ssh.session import Session
from potato.training.ssh.timing import SshTiming


class Way(Protocol):
    """The way to a host, and what is asked of it before a run begins there."""

    name: str
    timing: SshTiming

    @property
    def settings(self) -> SshBackend | SlurmBackend:
        """The entry of the project file."""

    def new_session(self, heard: Callable[[str], None], limit_s: float | None = None) -> Session:
        """A session that is not open yet. `heard` is told what is said there; `limit_s` shortens the log-in's limit."""

    def open(self, session: Session, notes: Notes) -> None:
        """Log in, and have Potato's code there. Raises what `Session.open` and `Session.bring_code` do."""

    def prepare(self, session: Session, job: Job, notes: Notes) -> Place:
        """Choose and make what the run needs there. Raises `HostFailed`, `HostSilent`, `Lost`."""

    def offer(self, job: Job, attempt: int, packed: Mapping[str, Any]) -> dict[str, Any]:
        """The job as its agent gets it."""
