"""The job folders on the training machine: every path, and the notes that courier and keeper leave each other."""

import contextlib
import json
import os
import platform
import shutil
import signal
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple

from potato.training.contract import lease
from potato.training.contract.files import write_atomic, write_json
from potato.training.worker import launch, processes

_MODE = 0o700
_ATTEMPT = "attempt-"
BEATS_S = 120.0
"""A keeper on another machine that was not heard for so long is taken for dead."""


class Attempt:
    """`<workdir>/jobs/<run id>/attempt-N/`: the worker's work folder, and the interface of its keeper.

    The courier renews `lease` and writes `cancel`; the keeper writes `keeper.json` and, as its last act, `ended.json`.
    Either may be killed at any instant.
    """

    def __init__(self, path: str, number: int) -> None:
        self.path = path
        self.number = number
        self.lock = os.path.join(path, "keeper.lock")
        self.lease_path = os.path.join(path, "lease")
        self._cancel = os.path.join(path, "cancel")
        self._keeper = os.path.join(path, "keeper.json")
        self._beat = os.path.join(path, "keeper.beat")
        self._ended = os.path.join(path, "ended.json")
        self._heard: Tuple[Optional[int], float] = (None, 0.0)

    def make(self) -> None:
        """Make the folder and the lease."""
        os.makedirs(self.path, mode=_MODE, exist_ok=True)
        os.close(os.open(self.lease_path, os.O_WRONLY | os.O_CREAT, 0o600))

    # What the courier says

    def renew_lease(self) -> None:
        """Tell the keeper that the server was reached; nothing happens where there is no keeper to tell yet."""
        lease.count_up(self.lease_path)

    def ask_cancel(self, reason: str) -> None:
        """Tell the keeper to end the worker; the first reason stays."""
        if os.path.exists(self._cancel):
            return
        try:
            write_atomic(self._cancel, reason.encode("utf-8", "replace") + b"\n")
        except OSError:  # the disk is full
            self._signal_keeper(signal.SIGTERM)

    def kill_keeper(self) -> None:
        """SIGKILL."""
        self._signal_keeper(signal.SIGKILL)

    # What the keeper says

    def note_keeper(self) -> None:
        """Called by the keeper about itself."""
        me = processes.stat(os.getpid())
        note = {"pid": os.getpid(), "started": me.started if me else "", "boot_id": processes.boot_id()}
        os.close(os.open(self._beat, os.O_WRONLY | os.O_CREAT, 0o600))
        write_json(self._keeper, dict(note, host=platform.node()))

    def beat(self) -> None:
        """Called by the keeper now and then: another machine that shares this folder sees that it lives."""
        lease.count_up(self._beat)

    def note_end(self, record: Mapping[str, Any]) -> None:
        """How the attempt ended."""
        write_json(self._ended, record)

    # What both read

    def cancel_reason(self) -> Optional[str]:
        """Why the worker is to end, once somebody asked."""
        try:
            with open(self._cancel, encoding="utf-8") as file:
                return file.read().strip()
        except FileNotFoundError:
            return None

    def end(self) -> Optional[Dict[str, Any]]:
        """How the attempt ended, once it has."""
        return read_json(self._ended)

    def keeper_lives(self) -> bool:
        """Whether the keeper that `keeper.json` names still runs; one on another machine, whether it was heard."""
        noted = read_json(self._keeper) or {}
        if self._keeper_pid() is not None:
            return True
        if noted.get("host") in (None, platform.node()) or self.end() is not None:
            return False
        return self._beats()

    def _beats(self) -> bool:
        """Whether the keeper's count went on within `BEATS_S`, by this process's own clock."""
        count, now = lease.count(self._beat), time.monotonic()
        if self._heard[0] != count or not self._heard[1]:
            self._heard = (count, now)
        return now - self._heard[1] < BEATS_S

    def worker(self) -> Optional[launch.Launched]:
        """The worker, once it was started; None where what names it is damaged."""
        try:
            return launch.read(self.path)
        except ValueError:
            return None

    def is_going(self) -> bool:
        """Whether anything of it runs."""
        worker = self.worker()
        return self.keeper_lives() or (worker is not None and launch.alive(worker))

    def _keeper_pid(self) -> Optional[int]:
        noted = read_json(self._keeper)
        if noted is None or noted.get("boot_id") != processes.boot_id():
            return None
        found = processes.stat(int(noted.get("pid", 0)))
        return found.pid if found is not None and found.lives and found.started == noted.get("started") else None

    def _signal_keeper(self, number: int) -> None:
        pid = self._keeper_pid()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):  # gone meanwhile
                os.kill(pid, number)


class JobFolder:
    """`<workdir>/jobs/<run id>/`: only this account may look into it. `job.json` is there until the server knows
    all."""

    def __init__(self, workdir: str, run_id: str) -> None:
        self.workdir = workdir
        self.run_id = run_id
        self.path = os.path.join(workdir, "jobs", run_id)
        self.archive = os.path.join(self.path, "bundle.tar.gz")
        self.bundle = os.path.join(self.path, "bundle")
        self._order = os.path.join(self.path, "job.json")

    def make(self, order: Mapping[str, Any]) -> None:
        """Make the folder, closed to others, with the job's order in it: `backend`, `host`, `python`, the worker's
        `env`, and the server's own `job`."""
        os.makedirs(self.path, mode=_MODE, exist_ok=True)
        os.chmod(self.path, _MODE)
        write_json(self._order, order)

    def order(self) -> Optional[Dict[str, Any]]:
        """The job's order; None once the server knows all."""
        return read_json(self._order)

    def attempt(self, number: int) -> Attempt:
        """One attempt's folder."""
        return Attempt(os.path.join(self.path, "%s%d" % (_ATTEMPT, number)), number)

    def attempts(self) -> List[Attempt]:
        """The attempts that have a folder."""
        names = (name[len(_ATTEMPT) :] for name in _names(self.path) if name.startswith(_ATTEMPT))
        return [self.attempt(number) for number in sorted(int(name) for name in names if name.isdigit())]

    def close(self, keep: bool) -> None:
        """The server knows all: the model's files stay where the run says they are, and the bundle goes unless it is
        to be kept."""
        _remove(self._order)
        if not keep:
            _remove(self.archive)
            shutil.rmtree(self.bundle, ignore_errors=True)

    def remove(self) -> None:
        """Nothing of it is wanted any more."""
        _remove(self._order)
        shutil.rmtree(self.path, ignore_errors=True)


def unfinished(workdir: str, backend: str) -> List[JobFolder]:
    """The jobs of this backend that an earlier agent on this machine left."""
    found = []
    for name in _names(os.path.join(workdir, "jobs")):
        folder = JobFolder(workdir, name)
        order = folder.order()
        if order is not None and (order.get("backend"), order.get("host")) == (backend, platform.node()):
            found.append(folder)
    return found


def read_json(path: str) -> Optional[Dict[str, Any]]:
    """The JSON object in a file, or None where there is none or it is damaged."""
    try:
        with open(path, encoding="utf-8") as file:
            value = json.load(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _names(path: str) -> List[str]:
    try:
        return sorted(os.listdir(path))
    except FileNotFoundError:
        return []


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
