"""What a backend is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from potato.errors import PotatoError
from potato.project import Project


class UnknownBackend(PotatoError):
    """The project has no backend of that name."""

    code = "unknown_backend"
    status = 409

    def __init__(self, name: str, project: Project) -> None:
        there = ", ".join(["local", *project.config.model_training.backends])
        super().__init__(
            f"There is no backend {name!r:.100}; the project has {there:.300}",
            hint="add it under model_training.backends in the project file, and restart the server",
        )


@dataclass(frozen=True)
class CheckReport:
    """Could a run start there now? `lines` are what a person reads; `details` is the same for programs."""

    backend: str
    ok: bool
    lines: Sequence[str]
    details: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The report in the API's shape."""
        return {"backend": self.backend, "ok": self.ok, "lines": list(self.lines), "details": self.details}


@dataclass(frozen=True)
class Job:
    """One attempt at a run, as a backend gets it.

    `folder` is the run's folder, with the bundle in `bundle/`; the backend brings `events.jsonl`, `stderr.log`,
    `predictions.jsonl` and `artifacts/` there. `step` shows a short sentence on the run, `log` adds a line to its log.
    """

    run_id: str
    attempt: int
    trainer: str
    schemas: Sequence[str]
    params: dict[str, Any]
    seed: int
    folder: Path
    grace_seconds: float
    step: Callable[[str], None]
    log: Callable[[str], None]
    amend: Callable[..., None] = lambda **fields: None
    """Writes fields of the run's row, such as `host`, that only the backend knows."""
    make_sure: Callable[[], None] = lambda: None
    """Raises `OutOfOffice` once another server looks after the run; asked before what cannot be undone."""


class StoppedThere(PotatoError):
    """Somebody on the other side stopped the run: it is cancelled, not failed."""

    code = "stopped_there"
    status = 409


@dataclass(frozen=True)
class Ended:
    """The worker is gone. `code` is its exit code, negative for a signal, None where nobody can know it."""

    code: int | None
    ran_out_of_memory: bool = False
    """Whether the machine killed something for want of memory meanwhile."""
    warnings: Sequence[str] = ()
    """What people should know of a run that succeeded, a sentence each."""


class Execution(Protocol):
    """A worker that was started, looked after from the supervisor's thread. No method waits."""

    host: str
    lingers: bool
    """Whether a worker that has said its `result` may only be ending: nothing more has to come over a network."""

    @property
    def delivered(self) -> bool:
        """Whether the worker has ended and its predictions are here: what still comes, its model, has no limit."""

    def poll(self) -> Ended | None:
        """Bring over what is new; how it ended, once it has. Raises `PotatoError` where it is lost for good."""

    def memory_mb(self) -> float | None:
        """The memory of the worker and its children, where the server caps it."""

    def stop(self) -> None:
        """Ask the whole process group to end (SIGTERM); safe to repeat."""

    def kill(self) -> None:
        """End what still lives of it (SIGKILL); safe to repeat."""

    def close(self) -> None:
        """Let go of it without touching the worker: it has ended, or the server is going down."""


class Backend(Protocol):
    """A place where runs execute."""

    name: str

    def check(self, trainer: str | None) -> CheckReport:
        """Could a run (of that trainer) start there now? Slow; called in a thread of its own."""

    def start(self, job: Job) -> Execution:
        """Start the worker of a job. Raises `PotatoError` where it cannot be started."""

    def resume(self, job: Job) -> Execution | None:
        """The execution of a job that an earlier server process started; None where nothing of it was ever started."""

    def close(self) -> None:
        """Let go of everything; the server is going down."""
