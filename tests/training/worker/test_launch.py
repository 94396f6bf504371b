"""Starting a worker, knowing it again, and ending all of it."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobs import Job, environment
from lab import wait_for
from potato.training.contract.spec import SpecError
from potato.training.worker import launch, processes
from potato.training.worker.launch import Launched

Make = Callable[..., Job]

linux = pytest.mark.skipif(not processes.has_proc(), reason="needs Linux's /proc")


def begun(made: Job, ended: list[Any], **more: Any) -> Launched:
    worker = launch.start(sys.executable, made.spec_path, str(made.work), environment(), **more)
    ended.append(worker)
    return worker


def fitting(made: Job) -> Any:
    return wait_for(lambda: [event for event in made.events("log") if event.fields["msg"] == "now fit"])


def children(made: Job) -> list[int]:
    logged = [event.fields["msg"] for event in made.events("log")]
    return [int(msg.split()[1]) for msg in logged if msg.startswith("child ")]


def test_a_worker_runs_to_its_end(job: Make, ended: list[Any]) -> None:
    made = job(does="print")
    worker = begun(made, ended)
    wait_for(lambda: not launch.alive(worker))
    assert launch.exit_status(worker, str(made.work)) == 0
    assert "printed by a child" in made.stderr()


def test_a_worker_leads_a_session_of_its_own_at_low_priority(job: Make, ended: list[Any]) -> None:
    made = job(does="wait")
    worker = begun(made, ended)
    fitting(made)
    assert os.getsid(worker.pid) == os.getpgid(worker.pid) == worker.pid
    assert os.getpriority(os.PRIO_PROCESS, worker.pid) == min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)


def test_a_worker_is_known_again_by_its_record(job: Make, ended: list[Any]) -> None:
    made = job(does="wait")
    worker = begun(made, ended)
    fitting(made)
    again = launch.read(str(made.work))
    assert again == worker
    assert again is not None
    assert again.child is None
    assert launch.alive(again)
    assert launch.terminate(again, 5)
    assert not launch.alive(again)
    assert launch.exit_status(again, str(made.work)) == 4


def test_a_worker_that_was_killed_is_told_by_its_signal(job: Make, ended: list[Any]) -> None:
    made = job(does="wait")
    worker = begun(made, ended)
    fitting(made)
    os.kill(worker.pid, signal.SIGKILL)
    wait_for(lambda: not launch.alive(worker))
    assert launch.exit_status(worker, str(made.work)) == -9
    assert launch.exit_status(launch.read(str(made.work)), str(made.work)) is None


def test_no_record_is_no_worker(tmp_path: Path) -> None:
    assert launch.read(str(tmp_path)) is None


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pid": null}'])
def test_a_damaged_record_says_so(tmp_path: Path, content: str) -> None:
    (tmp_path / "worker.json").write_text(content)
    with pytest.raises(ValueError, match=r"worker\.json|Expecting"):
        launch.read(str(tmp_path))


def test_a_pid_that_was_given_out_again_is_not_the_worker(job: Make, ended: list[Any]) -> None:
    """remote: a pid alone names nobody; what has it now is left alone."""
    made = job(does="wait")
    worker = begun(made, ended)
    fitting(made)
    for other in (
        dataclasses.replace(worker, started="1", run_id="another", child=None),
        dataclasses.replace(worker, boot_id="another boot", child=None),
    ):
        assert not launch.alive(other)
        assert launch.terminate(other, 0)
        assert launch.alive(worker)


@linux
def test_ending_a_worker_ends_what_it_started(job: Make, ended: list[Any]) -> None:
    made = job(does="leave_children")
    worker = begun(made, ended)
    in_group, escaped = wait_for(lambda: children(made) if len(children(made)) == 2 else None)
    wait_for(lambda: not launch.alive(worker))
    assert launch.members(worker) == sorted([in_group, escaped])
    assert launch.find_marked(made.spec.run_id) == sorted([in_group, escaped])
    assert launch.terminate(worker, 0.1)  # they ignore SIGTERM
    assert launch.find_marked(made.spec.run_id) == []


def test_ending_a_worker_that_has_ended_is_harmless(job: Make, ended: list[Any]) -> None:
    made = job()
    worker = begun(made, ended)
    wait_for(lambda: not launch.alive(worker))
    assert launch.terminate(worker, 1)
    assert launch.terminate(worker, 1)
    assert launch.exit_status(worker, str(made.work)) == 0


def test_an_interpreter_that_is_not_there_is_an_error(job: Make) -> None:
    made = job()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        launch.start("/nowhere/python", made.spec_path, str(made.work), environment())
    assert launch.read(str(made.work)) is None


def test_a_spec_that_cannot_be_read_starts_nothing(job: Make) -> None:
    made = job()
    Path(made.spec_path).write_text("{")
    with pytest.raises(SpecError):
        launch.start(sys.executable, made.spec_path, str(made.work), environment())


def test_a_worker_whose_record_cannot_be_written_ends(job: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    made = job()
    started: list[subprocess.Popen[bytes]] = []
    real = subprocess.Popen

    def popen(*arguments: Any, **more: Any) -> subprocess.Popen[bytes]:
        started.append(real(*arguments, **more))
        return started[-1]

    def full(path: str, data: bytes) -> None:
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(launch.subprocess, "Popen", popen)
    monkeypatch.setattr(launch, "write_atomic", full)
    with pytest.raises(OSError, match="No space"):
        launch.start(sys.executable, made.spec_path, str(made.work), environment())
    assert started[0].returncode == 4
    assert not made.events()


def test_a_folder_full_of_modules_shadows_nothing(job: Make, ended: list[Any], tmp_path: Path) -> None:
    """The project's folder may hold a random.py: the worker does not run there."""
    made = job()
    (tmp_path / "random.py").write_text("raise SystemExit('shadowed')")
    worker = begun(made, ended)
    wait_for(lambda: not launch.alive(worker))
    assert made.exit_code() == 0


def test_processes_are_told_apart_without_proc_too(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("ps") is None:
        pytest.skip("needs ps")
    by_proc = processes.stat(os.getpid())
    monkeypatch.setattr(processes, "has_proc", lambda: False)
    own = processes.stat(os.getpid())
    assert own is not None
    assert own == processes.stat(os.getpid())
    assert own.lives
    assert own.group == os.getpgid(0)
    assert by_proc is None or by_proc.group == own.group
    assert own.pid in [process.pid for process in processes.group(own.group)]
    assert processes.stat(2**22 + 1) is None
    assert processes.marked("POTATO_RUN=x") == []


def test_a_zombie_does_not_live() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        found = wait_for(lambda: (stat := processes.stat(child.pid)) and not stat.lives and stat)
        assert found.state.startswith("Z")
