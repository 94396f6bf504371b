"""The check of a machine that the server logs in to: a run's own steps, up to the last before anything is started."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from potato.errors import PotatoError
from potato.project.backends import SshBackend
from potato.training.backends.base import CheckReport
from potato.training.backends.greeting import greeting
from potato.training.backends.report import trainer_lines
from potato.training.ssh.errors import HostFailed, Lost, SshFailed
from potato.training.ssh.session import Session
from potato.training.ssh.text import clean, clean_path
from potato.training.trainers import registry

NO_KERNELS = "no_kernels"


class Checked(Protocol):
    """The backend, as far as its check needs it."""

    name: str
    settings: SshBackend

    def new_session(self, heard: Callable[[str], None], limit_s: float | None = None) -> Session:
        """See `Way`."""

    def log_in(self, session: Session, on_copying: Callable[[], None]) -> None:
        """Log in, and have Potato's code there."""

    def choose_gpus(self, session: Session, python: str, trainer: str | None) -> dict[str, Any]:
        """What the host says of its GPUs, and which a run would get."""


class SshCheck:
    """One check. `lines` and `details` grow with each step; the first that a run would fail at ends it."""

    def __init__(self, backend: Checked, trainer: str | None) -> None:
        self.lines: list[str] = []
        self.details: dict[str, Any] = {"host": backend.settings.host}
        self._backend = backend
        self._trainer = trainer
        self._without_torch = False

    def run(self) -> CheckReport:
        """The report; a failure is one, too."""
        try:
            with self._backend.new_session(lambda line: None) as session:
                self._log_in(session)
                ok = self._look(session)
        except Lost as lost:
            ok = self._failed(SshFailed(self._backend.settings.host, str(lost)))
        except PotatoError as error:
            ok = self._failed(error)
        return CheckReport(self._backend.name, ok, self.lines, self.details)

    def _failed(self, error: PotatoError) -> bool:
        self.lines += [error.message, *([f"  {error.hint}"] if error.hint else [])]
        self.details["error"] = error.as_json()
        return False

    def _log_in(self, session: Session) -> None:
        self._backend.log_in(session, lambda: None)
        hello = session.call("hello")
        first, *rest = greeting(session, hello)
        remote_dir = clean_path(hello.get("remote_dir"))
        self.lines += [f"{self._backend.name}: ssh to {first}", *rest]
        self.lines.append(f"{remote_dir} can be written, {hello.get('free_mb')} MB free")
        self.details |= {
            "python": session.version,
            "executable": clean(session.executable, 1000),
            "noise": clean(session.noise, 2000),
            "remote_dir": remote_dir,
            **{name: clean(hello.get(name), 300) for name in ("user", "os")},
            "node": clean(hello.get("host"), 255),
            "free_mb": hello.get("free_mb") if isinstance(hello.get("free_mb"), int) else None,
        }

    def _look(self, session: Session) -> bool:
        """Whether a run could start, after everything that depends on the kind of backend."""
        python = self._environment(session)
        gpus = self._gpus(session, python or session.executable)
        return self._trainers(session, python, gpus.get("env"))

    def _environment(self, session: Session) -> str | None:
        packages = list(self._backend.settings.packages)
        if not packages:
            return None
        answer = session.call("environment", packages=packages, look=True)
        python = str(answer["python"]) if answer.get("python") else None
        there = "is there" if python else "will be made by the first run; venv and pip are there"
        self.lines.append(f"the virtual environment with {', '.join(packages)} {there}")
        self.details["environment"] = None if python is None else clean(python, 1000)
        return python

    def _gpus(self, session: Session, python: str) -> Mapping[str, Any]:
        try:
            answer = self._backend.choose_gpus(session, python, self._trainer)
        except HostFailed as error:
            self._list(error.answer)
            if error.code != NO_KERNELS or self._trainer is not None:
                raise
            self._failed(error)
            self._without_torch = True  # a trainer that needs none could run all the same
            return {}
        self._list(answer)
        self.lines.append(f"a run would get: {clean(answer.get('text'))}")
        self.details["chosen"] = [clean(entry, 100) for entry in answer.get("chosen") or ()]
        return answer

    def _list(self, answer: Mapping[str, Any]) -> None:
        found = [gpu for gpu in answer.get("gpus") or () if isinstance(gpu, dict)]
        self.lines += [gpu_line(gpu) for gpu in found]
        self.details["gpus"] = [
            {
                name: _plain(gpu.get(name))
                for name in ("index", "uuid", "name", "free_mb", "total_mb", "utilisation", "mark")
            }
            for gpu in found
        ]
        if answer.get("reason"):
            self.lines.append(f"GPUs: {clean(answer['reason'])}")

    def _trainers(self, session: Session, python: str | None, env: Any) -> bool:
        device = "cpu" if self._backend.settings.gpus == "none" else "auto"
        probe = session.call("probe", python=python, trainer=self._trainer, device=device, env=env or {})
        found = [_trainer(entry) for entry in probe.get("trainers") or () if isinstance(entry, dict)]
        asked = [entry for entry in found if self._trainer in (None, entry["name"])]
        self.details["trainers"] = asked
        self.details["torch"] = clean(probe["torch"], 60) if probe.get("torch") else None
        self.lines += [line for entry in asked for line in trainer_lines(entry)]
        if not asked:
            self.lines.append(
                f"the trainer '{self._trainer}' is not installed for {clean(python or session.executable)}"
            )
        if self._backend.settings.packages and python is None:
            self.lines.append("what is missing may come with the virtual environment's packages")
            return True
        return any(entry["ok"] and not (self._without_torch and needs_torch(entry["name"])) for entry in asked)


def gpu_line(gpu: Mapping[str, Any]) -> str:
    """One GPU for people."""
    free, total = _plain(gpu.get("free_mb")), _plain(gpu.get("total_mb"))
    memory = (
        "free memory unknown" if free is None else f"{free} MB free" + (f" of {total}" if total is not None else "")
    )
    used = "" if gpu.get("utilisation") is None else f", {_plain(gpu['utilisation'])} % in use"
    mark = f" {clean(gpu['mark'], 200)}" if gpu.get("mark") else ""
    return f"GPU {_plain(gpu.get('index'))} {clean(gpu.get('name'), 100)}: {memory}{used}{mark}"


def _trainer(entry: Mapping[str, Any]) -> dict[str, Any]:
    missing = entry.get("missing")
    return {
        "name": clean(entry.get("name"), 100),
        "ok": entry.get("ok") is True,
        "missing": [clean(reason) for reason in missing] if isinstance(missing, list) else [],
        "install": clean(entry.get("install") or "", 1000),
    }


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float)) else clean(value, 200)


def needs_torch(trainer: str) -> bool:
    """Whether this trainer computes with torch; one that is not known here is taken to."""
    try:
        return any(requirement.module == "torch" for requirement in registry.get(trainer).info.requires)
    except registry.UnknownTrainer:
        return True
