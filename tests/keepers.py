"""Finding what runs of a test's job, so that nothing is left when the test is over."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from potato.training.worker import launch, processes


@contextmanager
def nothing_left(folder: Path) -> Iterator[str]:
    """A run's id of one test's, by its folder; nothing of that run lives when the context is left."""
    name = f"20261129T141500-{abs(hash(str(folder))) % 10**10}"
    yield name
    keepers = keepers_of(name)
    for pid in keepers:
        os.kill(pid, signal.SIGKILL)
    left = launch.find_marked(name)
    launch.kill_marked(name)
    assert (left, keepers) == ([], []), "something was left running"


def keepers_of(run_id: str) -> list[int]:
    """The keepers of a run that live."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            command = (folder / "cmdline").read_bytes() if folder.name.isdigit() else b""
        except OSError:
            continue
        process = processes.stat(int(folder.name)) if b"potato.training.agent.keeper" in command else None
        if process is not None and process.lives and run_id.encode() in command:
            found.append(process.pid)
    return found


def left_of(run_id: str) -> list[int]:
    """Every living process of a run: its keepers, its worker, and whatever that started."""
    return [*keepers_of(run_id), *launch.find_marked(run_id)]
