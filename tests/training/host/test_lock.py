"""Doing something alone: whoever holds the lock may be killed, and the file system may have none."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from jobs import environment
from lab import wait_for
from potato.training.host.lock import Lock
from potato.training.worker import processes

HOLDER = """
import subprocess, sys, time
from potato.training.host.lock import Lock
with Lock(sys.argv[1]) as lock:
    child = [subprocess.Popen(["sleep", "600"], pass_fds=[lock.descriptor]).pid] if len(sys.argv) > 2 else []
    print("held", *child, flush=True)
    time.sleep(600)
"""


def holder(path: Path, *more: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process that holds the lock, and the pids of its children that do."""
    command = [sys.executable, "-c", HOLDER, str(path), *more]
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, [int(pid) for pid in process.stdout.readline().split()[1:]]


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(30)
    assert process.stdout is not None
    process.stdout.close()


def test_one_at_a_time(tmp_path: Path) -> None:
    inside, most = [0], [0]

    def work() -> None:
        for _ in range(5):
            with Lock(str(tmp_path / "lock")):
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1]


def test_the_lock_of_a_killed_holder_is_free(tmp_path: Path) -> None:
    process, _ = holder(tmp_path / "lock")
    waited: list[int] = []

    def wait() -> None:
        waited.append(1)
        if len(waited) == 2:
            end(process)

    with Lock(str(tmp_path / "lock"), wait):
        assert len(waited) >= 2


def test_a_child_that_works_on_holds_it_on(tmp_path: Path) -> None:
    process, (child,) = holder(tmp_path / "lock", "with a child")
    end(process)
    waited: list[int] = []

    def wait() -> None:
        waited.append(1)
        if len(waited) == 2:
            os.kill(child, 9)

    with Lock(str(tmp_path / "lock"), wait):
        assert len(waited) >= 2


@pytest.fixture
def no_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)


def note(folder: Path, **more: Any) -> None:
    me = processes.stat(os.getpid())
    assert me is not None
    whole = {"host": os.uname().nodename, "boot_id": processes.boot_id(), "pid": os.getpid(), "started": me.started}
    (folder / "lock.json").write_text(json.dumps({**whole, **more}))


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("dead", [{"started": "1"}, {"pid": 2**22 + 1}, {"boot_id": "an earlier boot"}])
def test_without_locks_a_dead_holder_s_note_is_of_no_account(tmp_path: Path, dead: dict[str, Any]) -> None:
    note(tmp_path, **dead)
    with Lock(str(tmp_path / "lock")):
        assert json.loads((tmp_path / "lock.json").read_text())["pid"] == os.getpid()
    assert not (tmp_path / "lock.json").exists()


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("living", [{}, {"host": "another", "boot_id": "its own"}])
def test_without_locks_a_living_holder_is_waited_for(tmp_path: Path, living: dict[str, Any]) -> None:
    note(tmp_path, **living)
    waiting = threading.Event()
    held: list[bool] = []

    def work() -> None:
        with Lock(str(tmp_path / "lock"), waiting.set):
            held.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    assert waiting.wait(30)
    assert held == []
    (tmp_path / "lock.json").unlink()
    wait_for(lambda: held, 60)
    thread.join()
