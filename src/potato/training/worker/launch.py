"""Starting a worker, knowing it again, and ending it with everything that it started.

The worker is the leader of a session and process group of its own, at low priority. It goes on only when
`worker.json` names it on disk, so whoever comes after a crash finds it.
"""

import contextlib
import json
import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Set

from potato.training.contract.files import as_json, write_atomic, write_new
from potato.training.contract.spec import read_spec
from potato.training.worker import processes

MARK = "POTATO_RUN"
START = "POTATO_START"
"""Marks what belongs to one start of a worker that is no process of this machine's agent."""
NICE = 10
_POLL_S = 0.02


@dataclass(frozen=True)
class Launched:
    """A worker that was started: its pid, which is its process group too, and the instant its process began."""

    pid: int
    started: str
    boot_id: str = ""
    run_id: str = ""
    child: Optional["subprocess.Popen[bytes]"] = field(default=None, compare=False, repr=False)
    """Set where this very process started it."""


def start(
    python: str,
    spec_path: str,
    work_dir: str,
    env: Mapping[str, str],
    *,
    cwd: Optional[str] = None,
    may_begin: Callable[[], None] = lambda: None,
    first: bool = False,
) -> Launched:
    """Start the worker of `spec_path` with the interpreter `python` and the environment `env`.

    Its output goes to `stderr.log` in `work_dir`, which is its working directory too unless `cwd` names another.
    `may_begin` is asked at the last instant: where it raises, nothing was begun and nothing is noted.
    With `first`, none was started in `work_dir` before: where another start has noted its worker there meanwhile,
    `FileExistsError` is raised and nothing was begun.
    Raises `OSError` where the interpreter cannot be started, `SpecError` where the spec cannot be read.
    """
    run_id = read_spec(spec_path).run_id
    command = [python, "-u", "-m", "potato.training.worker", os.path.abspath(spec_path), "--when-told"]
    with open(os.path.join(work_dir, "stderr.log"), "ab") as output:
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            cwd=cwd or work_dir,
            env=_environment(env, run_id),
            start_new_session=True,
            bufsize=0,
        )
    return _record(child, work_dir, run_id, may_begin, write_new if first else write_atomic)


def read(work_dir: str) -> Optional[Launched]:
    """The worker that `worker.json` names, or None where none was started. Raises `ValueError` for a damaged file."""
    try:
        with open(os.path.join(work_dir, "worker.json"), encoding="utf-8") as file:
            raw: Dict[str, Any] = json.load(file)
    except FileNotFoundError:
        return None
    try:
        return Launched(int(raw["pid"]), str(raw["started"]), str(raw["boot_id"]), str(raw["run_id"]))
    except (KeyError, TypeError) as error:
        raise ValueError("worker.json in %s names no process: %s" % (work_dir, error)) from error


def alive(worker: Launched) -> bool:
    """Whether that very process still runs."""
    if worker.boot_id != processes.boot_id():
        return False
    found = processes.stat(worker.pid)
    lives = found is not None and found.lives and found.started == worker.started
    if not lives:
        _bury(worker)
    return lives


def exit_status(worker: Optional[Launched], work_dir: str) -> Optional[int]:
    """How the worker ended: the code in its file `exit_code`; where it left none, the minus of the signal that killed
    it, which only the process that started it can know; else None."""
    try:
        with open(os.path.join(work_dir, "exit_code"), encoding="ascii") as file:
            return int(file.read())
    except (FileNotFoundError, ValueError):
        return worker.child.poll() if worker is not None and worker.child is not None else None


def terminate(worker: Launched, grace: float) -> bool:
    """End the worker and everything of it: SIGTERM, after `grace` seconds SIGKILL. Whether all are gone.

    Blocks until they are gone, at most `grace` and five seconds.
    """
    _signal(worker, signal.SIGTERM)
    if _gone(worker, grace):
        return True
    _signal(worker, signal.SIGKILL)
    return _gone(worker, 5.0)


def signal_stop(worker: Launched) -> None:
    """Ask the worker and everything of it to end, and return at once."""
    _signal(worker, signal.SIGTERM)


def members(worker: Launched) -> List[int]:
    """The pids of what still lives of the worker: its process group, and what left that but carries its mark."""
    if worker.boot_id != processes.boot_id():
        return []
    found: Set[int] = {process.pid for process in _group(worker)}
    if worker.run_id:
        found.update(find_marked(worker.run_id))
    if worker.pid not in found:
        _bury(worker)
    return sorted(found - {os.getpid()})


def find_marked(run_id: str) -> List[int]:
    """The pids of all living processes that a run's worker started, by their environment (Linux; else none)."""
    return [process.pid for process in processes.marked("%s=%s" % (MARK, run_id))]


def kill_marked(run_id: str) -> None:
    """SIGKILL whatever `find_marked` finds."""
    _kill(find_marked(run_id), signal.SIGKILL)


def kill_started(start: str) -> None:
    """SIGKILL whatever else carries the mark of this start."""
    found = processes.marked("%s=%s" % (START, start))
    _kill([process.pid for process in found if process.pid != os.getpid()], signal.SIGKILL)


def _environment(env: Mapping[str, str], run_id: str) -> Dict[str, str]:
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    path = [root] + [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]
    whole = dict(env)
    whole["PYTHONPATH"] = os.pathsep.join(path)
    whole[MARK] = run_id
    return whole


def _record(
    child: "subprocess.Popen[bytes]",
    work_dir: str,
    run_id: str,
    may_begin: Callable[[], None],
    write: Callable[[str, bytes], None],
) -> Launched:
    """Write down which process it is, then tell it to go on. Where this raises, the worker has ended."""
    assert child.stdin is not None
    found = processes.stat(child.pid)
    worker = Launched(child.pid, found.started if found else "", processes.boot_id(), run_id, child)
    record = {"pid": worker.pid, "started": worker.started, "boot_id": worker.boot_id, "run_id": run_id}
    try:
        _be_nice(child.pid)
        may_begin()
        write(os.path.join(work_dir, "worker.json"), as_json(record))
        with contextlib.suppress(BrokenPipeError):  # it ended before it began: its exit status and stderr.log tell why
            child.stdin.write(b"\n")
    except BaseException:
        child.stdin.close()  # never told, it ends
        child.wait()
        raise
    child.stdin.close()
    return worker


def _be_nice(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended
        os.setpriority(os.PRIO_PROCESS, pid, min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICE))


def _bury(worker: Launched) -> None:
    """Take away the zombie of a child that has ended, and learn how it did. It can be taken away when all its threads
    have ended, a moment after the first, which makes it look dead."""
    if worker.child is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            worker.child.wait(1.0)


def _group(worker: Launched) -> List[processes.Stat]:
    """The worker's process group; empty where its number has gone to another leader since."""
    found = processes.group(worker.pid)
    leader = next((process for process in found if process.pid == worker.pid), None)
    return found if leader is None or leader.started == worker.started else []


def _signal(worker: Launched, number: int) -> None:
    _kill(members(worker), number)


def _kill(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # gone meanwhile
            os.kill(pid, number)


def _gone(worker: Launched, limit: float) -> bool:
    """Wait until nothing of the worker lives, at most `limit` seconds."""
    end = time.monotonic() + limit
    while members(worker):
        if time.monotonic() >= end:
            return False
        time.sleep(_POLL_S)
    return True
