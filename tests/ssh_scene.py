"""A lab whose backends are hosts with a real sshd, and its supervisor, for tests."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import relay
from lab import FAST, Lab, finished, model_on_its_way, wait_for
from machines import FAKES, PYTHON
from potato.store.training.runs import Run, State
from potato.training.runs.folder import RunFolder
from potato.training.runs.request import RunRequest
from potato.training.runs.supervisor import Supervisor
from potato.training.ssh.timing import SshTiming
from sshd import ALIAS, Host

REMOTE_DIR = ".cache/potato-training"
QUICK = SshTiming(connect=15, alive_interval=1, alive_count=2, silence=15.0, first_pause=0.1, longest_pause=0.5)
"""Breaks are noticed in seconds."""
IMPATIENT = SshTiming(connect=5, first_pause=0.1, longest_pause=0.2, copy_silence=2.0)
"""A copy that brings nothing is soon given up."""
SLOW = 400_000
"""Bytes a second: a model of some MB is on its way for seconds."""


def settings(host: Host | str = ALIAS, **more: Any) -> dict[str, Any]:
    """A backend on this host, with the interpreter of these tests, which finds the fake trainers there."""
    env = {"PYTHONPATH": str(FAKES), **more.pop("env", {})}
    alias = host if isinstance(host, str) else host.alias
    return {"type": "ssh", "host": alias, "python": PYTHON, "env": env, **more}


def ssh_lab(
    folder: Path,
    backends: Mapping[str, Mapping[str, Any]],
    items: Any = 60,
    labels: Mapping[str, str] | None = None,
    **training: Any,
) -> Lab:
    """Items, with these labels or others, and these backends."""
    lab = Lab(folder, items, model_training={"backends": backends, "num_threads": 1, **training})
    if labels is None:
        lab.label_alternately()
    else:
        lab.label({item: labels[item] for item in lab.ids if item in labels})
    return lab


class Scene:
    """A lab and what sees its runs through."""

    def __init__(self, lab: Lab, supervisor: Supervisor) -> None:
        self.lab = lab
        self.supervisor = supervisor

    def submit(self, backend: str = ALIAS, trainer: str = "fake", **params: Any) -> str:
        """Queue a run; its id."""
        return self.supervisor.submit(RunRequest(trainer, ["sentiment"], backend, params)).run_id

    def run(self, backend: str = ALIAS, trainer: str = "fake", **params: Any) -> Run:
        """A run, from its beginning to its end."""
        return self.finished(self.submit(backend, trainer, **params))

    def finished(self, run_id: str, limit: float = 120) -> Run:
        """The run, once it has ended."""
        return finished(self.supervisor, run_id, limit)

    def success(self, run_id: str, limit: float = 120) -> Run:
        """The run, which must succeed."""
        run = self.finished(run_id, limit)
        assert run.state is State.SUCCESS, (run.error, self.log(run_id))
        return run

    def trains(self, run_id: str, limit: float = 120) -> Run:
        """The run, once its worker has told of the fit."""

        def look() -> Run | None:
            run = self.supervisor.get(run_id)
            assert not run.is_finished, (run.error, self.log(run_id))
            return run if run.progress else None

        run: Run = wait_for(look, limit)
        return run

    def folder(self, run_id: str) -> RunFolder:
        """Its folder on the server's side."""
        return RunFolder.of(self.lab.project, run_id)

    def log(self, run_id: str) -> str:
        """What a person reads of it."""
        return self.folder(run_id).log.read_text("utf-8")

    def says(self, run_id: str, text: str, limit: float = 60) -> None:
        """Wait until its log has this."""
        wait_for(lambda: self.folder(run_id).log.exists() and text in self.log(run_id), limit)


@contextlib.contextmanager
def scene(lab: Lab, timing: SshTiming | None = None) -> Iterator[Scene]:
    """The lab's runs are seen through until the block ends."""
    with lab.supervisor(replace(FAST, ssh=timing or SshTiming())) as supervisor:
        yield Scene(lab, supervisor)


def slowly(host: Host) -> str:
    """A name by which the host is reached by a slow way."""
    return host.also("slow", relay.option(rate=SLOW))


def arrives(lab: Scene, run_id: str) -> None:
    """Wait until the first bytes of a run's model are here."""
    wait_for(lambda: model_on_its_way(lab.folder(run_id)), 60)


def broken_off(lab: Scene, host: Host) -> Run:
    """A run whose host went away while the model was copied, and stayed away."""
    run_id = lab.submit(weights=1, weights_mb=3)
    arrives(lab, run_id)
    host.down()
    host.close()
    return lab.success(run_id)


def error(run: Run) -> dict[str, Any]:
    """What a failed run says of its failure."""
    assert run.state is State.ERROR and run.error is not None, (run.state, run.error)
    return run.error


def jobs_there(host: Host) -> list[str]:
    """The runs that have left something on the host."""
    folder = host.home / REMOTE_DIR / "jobs"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def in_tmp(host: Host) -> list[str]:
    """What stands in the host's /tmp, but for the way to this repository where it lies there itself."""
    ours = [part.parts[2] for part in (Path(PYTHON), FAKES) if part.parts[1] == "tmp"]
    return sorted(path.name for path in (host.there.root / "tmp").iterdir() if path.name not in ours)
