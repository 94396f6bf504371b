"""Backends that the server logs in to, and of these the `ssh` backend. Potato starts everything there itself."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from potato.project import Project
from potato.project.backends import SlurmBackend as SlurmSettings
from potato.project.backends import SshBackend as SshSettings
from potato.training.agents.claim import Claim, read_claim
from potato.training.backends.base import CheckReport, Job
from potato.training.backends.notes import Notes
from potato.training.backends.offer import Pack, offer
from potato.training.backends.place import Place
from potato.training.backends.remote import SshExecution
from potato.training.backends.ssh_check import SshCheck, needs_torch
from potato.training.ssh.command import Destination
from potato.training.ssh.session import Session
from potato.training.ssh.text import clean
from potato.training.ssh.timing import SshTiming
from potato.training.worker.__main__ import THREAD_VARIABLES

REPORT_EVERY_S = 0.25
"""A word costs little over a connection that is there anyway."""
LEAVE_S = 3.0

S = TypeVar("S", SshSettings, SlurmSettings)


class LoginBackend(Generic[S]):
    """What is the same for every machine that the server logs in to."""

    def __init__(self, project: Project, name: str, settings: S, pack: Pack, timing: SshTiming | None = None) -> None:
        self.name = name
        self.settings: S = settings
        self.timing = timing or SshTiming()
        self._project = project
        self._pack = pack
        self._lock = threading.Lock()
        self._executions: list[SshExecution] = []

    def start(self, job: Job) -> SshExecution:
        return self._execution(job, None)

    def resume(self, job: Job) -> SshExecution | None:
        claim = read_claim(job.folder)
        return self._execution(job, claim) if claim is not None else None

    def close(self) -> None:
        """Let go of everything: what runs there goes on, for as long as `reconnect_s`."""
        with self._lock:
            executions, self._executions = self._executions, []
        for execution in executions:
            execution.leave()
        for execution in executions:
            execution.join(LEAVE_S)

    # What an execution and a check need

    def new_session(self, heard: Callable[[str], None], limit_s: float | None = None) -> Session:
        """See `Way`."""
        limit = self.timing.log_in if limit_s is None else min(limit_s, self.timing.log_in)
        return Session(self._destination(), replace(self.timing, log_in=limit), heard)

    def open(self, session: Session, notes: Notes) -> None:
        """See `Way`."""
        step = f"copying Potato's code to {self.settings.host}"
        self.log_in(session, lambda: notes.step(step))

    def log_in(self, session: Session, on_copying: Callable[[], None]) -> None:
        """Log in, and have Potato's code there; `on_copying` is called where it has to be copied."""
        session.open(self.settings.python, self._variables())
        session.bring_code(self.settings.remote_dir, on_copying)

    def prepare(self, session: Session, job: Job, notes: Notes) -> Place:
        """See `Way`."""
        raise NotImplementedError

    def offer(self, job: Job, attempt: int, packed: Mapping[str, Any]) -> dict[str, Any]:
        """See `Way`."""
        made = offer(
            job,
            attempt,
            packed,
            heartbeat_timeout_s=self.settings.heartbeat_timeout_s,
            give_up_s=self.settings.reconnect_s,
            num_threads=self.settings.num_threads,
        )
        return {**made, "report_every_s": REPORT_EVERY_S}

    def _destination(self) -> Destination:
        settings = self.settings
        return Destination(settings.host, settings.user, settings.port, self._identity_file())

    def _identity_file(self) -> str | None:
        path = self.settings.identity_file
        if path is None or path.startswith("~"):
            return path
        return str(Path(self._project.task_dir) / path)

    def _variables(self) -> dict[str, str]:
        threads = self.settings.num_threads
        made = {} if threads is None else dict.fromkeys(THREAD_VARIABLES, str(threads))
        return {**made, **self.settings.env}

    def _execution(self, job: Job, claim: Claim | None) -> SshExecution:
        limit = self._project.config.model_training.max_predictions_mb
        made = SshExecution(self, job, self._pack(job), limit, claim)
        with self._lock:
            self._executions = [execution for execution in self._executions if execution.is_working] + [made]
        return made


class SshBackend(LoginBackend[SshSettings]):
    """One entry of `model_training.backends` with `type: ssh`."""

    def check(self, trainer: str | None) -> CheckReport:
        """Everything that a run does before its first step there, in the same code; nothing is started or made."""
        return SshCheck(self, trainer).run()

    def prepare(self, session: Session, job: Job, notes: Notes) -> Place:
        """See `Way`."""
        python = self._environment(session, notes)
        notes.step(f"looking for a GPU on {self.settings.host}")
        answer = self.choose_gpus(session, python or session.executable, job.trainer, run_id=job.run_id)
        reason = clean(answer.get("reason") or "")
        notes.say(f"{self.settings.host}: {clean(answer.get('text'))}" + (f" ({reason})" if reason else ""))
        env = answer.get("env")
        return Place(python, {str(name): str(value) for name, value in env.items()} if isinstance(env, dict) else {})

    def offer(self, job: Job, attempt: int, packed: Mapping[str, Any]) -> dict[str, Any]:
        """See `Way`."""
        device = "cpu" if self.settings.gpus == "none" else "auto"
        return {**super().offer(job, attempt, packed), "device": device}

    def choose_gpus(self, session: Session, python: str, trainer: str | None, **more: Any) -> dict[str, Any]:
        """What the host says of its GPUs, and which a run of `trainer` would get. Raises `HostFailed`."""
        return session.call(
            "gpus",
            gpus=self.settings.gpus,
            min_free_mb=self.settings.min_free_gpu_mb,
            limit_s=self.timing.nvidia_smi,
            python=python if trainer is None or needs_torch(trainer) else None,
            **more,
        )

    def _environment(self, session: Session, notes: Notes) -> str | None:
        if not self.settings.packages:
            return None
        step = f"creating the virtual environment on {self.settings.host}"

        def progress(frame: Mapping[str, Any]) -> None:
            notes.moving_step(f"{step}: {clean(frame.get('progress'), 150)}")

        notes.step(f"looking for the virtual environment on {self.settings.host}")
        answer = session.call("environment", progress, packages=list(self.settings.packages))
        if answer.get("made"):
            notes.say(f"made a virtual environment with {', '.join(self.settings.packages)}")
        return str(answer.get("python"))  # goes back there as it came
