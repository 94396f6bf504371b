"""The calls `tail`, `end` and `remove`: a run's last words, its end, and its folder's."""

import os
import shutil
import stat
import time
from contextlib import suppress
from typing import Any, Dict, Mapping

from potato.training.agent import keeping
from potato.training.agent.folder import Attempt, JobFolder
from potato.training.agent.keeper import CANCELLED
from potato.training.host import artifacts, couriers
from potato.training.host.children import WORD_EVERY_S
from potato.training.host.failures import CallFailed
from potato.training.host.session import Session
from potato.training.worker import launch

LOGS = ("slurm.out", "stderr.log", "keeper.log")
KILL_S = 15.0
"""A keeper that takes this much longer than the grace is ended itself."""


def tail(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """The end of what the newest attempt's programs printed, at most `bytes` of each file."""
    attempts = JobFolder(session.remote_dir, str(call["run_id"])).attempts()
    most = int(call.get("bytes") or 20000)
    texts = []
    for name in LOGS if attempts else ():
        text = _end_of(os.path.join(attempts[-1].path, name), most)
        if text.strip():
            texts.append("--- %s\n%s\n" % (name, text.rstrip("\n")))
    return {"text": "".join(texts)}


def end(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """End whatever of the run lives here; `left` are the pids of what could not be ended."""
    folder = JobFolder(session.remote_dir, str(call["run_id"]))
    couriers.end(folder)
    order = folder.order() or {}
    grace = float((order.get("job") or {}).get("grace_seconds", 20.0))
    for attempt in folder.attempts():
        if attempt.is_going() or (order and attempt.end() is None):
            _end(session, attempt, grace + KILL_S)
    launch.kill_marked(folder.run_id)
    return {"left": launch.find_marked(folder.run_id)}


def _end(session: Session, attempt: Attempt, limit_s: float) -> None:
    """Give its keeper the time to end it, and then end both."""
    attempt.ask_cancel(CANCELLED)
    until = time.monotonic() + limit_s
    said = 0.0
    while attempt.keeper_lives() and time.monotonic() < until:
        if time.monotonic() - said >= WORD_EVERY_S:
            said = time.monotonic()
            session.progress("ending the worker")
        time.sleep(0.05)
    keeping.end(attempt, CANCELLED, 0.0)


def remove(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """Remove the run's folder, or all but its model files. Raises `CallFailed` while something of it runs."""
    folder = JobFolder(session.remote_dir, str(call["run_id"]))
    if any(attempt.is_going() for attempt in folder.attempts()):
        raise CallFailed("still_running", "run %s is still going here" % folder.run_id)
    kept = artifacts.newest(folder) if call.get("keep_artifacts") else None
    if kept is None:
        clear(folder.path)
        return {}
    for parent, keep in ((folder.path, os.path.basename(kept.path)), (kept.path, artifacts.NAME)):
        for name in os.listdir(parent):
            if name != keep:
                clear(os.path.join(parent, name))
    return {}


def _end_of(path: str, most: int) -> str:
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - most))
            return file.read(most).decode("utf-8", "replace")
    except OSError:
        return ""


def clear(path: str) -> None:
    """Remove a file or a folder, what is write-protected in it too. Raises `OSError` for what stays."""
    if not os.path.isdir(path) or os.path.islink(path):
        with suppress(FileNotFoundError):
            os.unlink(path)
        return
    os.chmod(path, stat.S_IRWXU)
    for parent, folders, _ in os.walk(path):
        for name in folders:
            if not os.path.islink(os.path.join(parent, name)):
                os.chmod(os.path.join(parent, name), stat.S_IRWXU)
    shutil.rmtree(path)
