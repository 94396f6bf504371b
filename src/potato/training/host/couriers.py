"""One courier a run on this machine: a new one ends an older, whose connection is of no use any more."""

import os
import signal
import time
from contextlib import contextmanager, suppress
from typing import Any, Dict, Iterator, Optional

from potato.training.agent.folder import JobFolder, read_json
from potato.training.contract.files import write_json
from potato.training.worker import processes

LIMIT_S = 5.0


@contextmanager
def alone(folder: JobFolder) -> Iterator[None]:
    """Be the run's courier. An older one is killed: it may be cut off at any instant."""
    os.makedirs(folder.path, mode=0o700, exist_ok=True)
    end(folder)
    me = processes.stat(os.getpid())
    note = {"pid": os.getpid(), "started": me.started if me else "", "boot_id": processes.boot_id()}
    with suppress(OSError):  # a disk that has filled up meanwhile stops no worker, so no courier either
        write_json(_path(folder), note)
    yield


def end(folder: JobFolder) -> None:
    """Kill the run's courier, where it is another process than this."""
    pid = living(folder)
    if pid is None or pid == os.getpid():
        return
    with suppress(ProcessLookupError):  # gone meanwhile
        os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + LIMIT_S
    while living(folder) is not None and time.monotonic() < until:
        time.sleep(0.01)


def living(folder: JobFolder) -> Optional[int]:
    """The pid of the run's courier, where it lives on this machine."""
    note = _read(folder)
    if note.get("boot_id") != processes.boot_id() or not isinstance(note.get("pid"), int):
        return None
    found = processes.stat(note["pid"])
    return found.pid if found is not None and found.lives and found.started == note.get("started") else None


def _read(folder: JobFolder) -> Dict[str, Any]:
    return read_json(_path(folder)) or {}


def _path(folder: JobFolder) -> str:
    return os.path.join(folder.path, "courier.json")
