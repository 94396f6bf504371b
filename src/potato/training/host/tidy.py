"""The call `tidy`: what earlier runs left, and nobody needs any more."""

import os
import time
from contextlib import suppress
from typing import Any, Dict, Iterator, List, Mapping

from potato.training.agent.folder import JobFolder
from potato.training.contract.exits import Exit
from potato.training.host import artifacts, couriers
from potato.training.host.leftovers import clear
from potato.training.host.lock import Lock
from potato.training.host.session import Session

DAYS = {"code": 30.0, "environments": 90.0, "jobs": 7.0, "half_made": 1.0}
"""How long each lies untouched before it goes."""
_DOING = "removing what earlier runs left"
KEEP = "keep"
"""A job folder with a file of this name is to stay."""


def tidy(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """Remove old code and environments, the folders of jobs that ended long ago and keep no model, and what was only
    half made.

    `removed` are the paths; what cannot be removed stays. `days` overrides `DAYS`. Ages are by this machine's clock.
    """
    days = dict(DAYS, **dict(call.get("days") or {}))
    removed: List[str] = []
    for path in [
        *_half_made(session.remote_dir, days["half_made"]),
        *_code(session.remote_dir, str(call.get("keep_code")), days["code"]),
        *_jobs(session.remote_dir, days["jobs"]),
    ]:
        _clear(session, path, removed)
    for path in _environments(session, days["environments"]):
        _clear(session, path, removed)
    return {"removed": removed}


def _clear(session: Session, path: str, removed: List[str]) -> None:
    session.progress(_DOING)
    with suppress(OSError):  # somebody else's, or in use: it does no more harm than before
        clear(path)
        removed.append(path)


def _half_made(root: str, days: float) -> Iterator[str]:
    """What was written beside its place, and environments that were never finished."""
    for path in _entries(root, "code"):
        if path.endswith(".part") and _is_older(path, days):
            yield path
    for path in _entries(root, "envs"):
        if os.path.isdir(path) and not _is_finished(path) and _is_older(path, days):
            yield path
    for path in _entries(root):
        if os.path.basename(path).startswith(".trial-") and _is_older(path, days):
            yield path


def _code(root: str, keep: str, days: float) -> Iterator[str]:
    """Copies that no log-in has used for so long, and no job that is not over."""
    used = {os.path.basename(str(order.get("code"))) for order in _orders(root)}
    for path in _entries(root, "code"):
        if os.path.basename(path) not in used | {keep} and not path.endswith(".part") and _is_older(path, days):
            yield path


def _environments(session: Session, days: float) -> Iterator[str]:
    """Those that no run has asked for so long, and no job works in that is not over. Each is nobody else's while it is
    yielded: who asks for it then waits, and makes it anew."""
    used = {name for order in _orders(session.remote_dir) for name in str(order.get("python")).split(os.sep)}
    for path in _entries(session.remote_dir, "envs"):
        if os.path.basename(path) in used or not _is_finished(path) or not _is_older(path, days):
            continue
        with Lock(path + ".lock", lambda: session.progress(_DOING)):
            if _is_older(path, days):
                yield path


def _orders(root: str) -> Iterator[Mapping[str, Any]]:
    """The orders of the jobs that are not over."""
    orders = (JobFolder(root, os.path.basename(path)).order() for path in _entries(root, "jobs"))
    return (order for order in orders if order is not None)


def _is_finished(environment: str) -> bool:
    return os.path.exists(os.path.join(environment, "complete.json"))


def _jobs(root: str, days: float) -> Iterator[str]:
    for path in _entries(root, "jobs"):
        folder = JobFolder(root, os.path.basename(path))
        attempts = folder.attempts()
        if os.path.exists(os.path.join(path, KEEP)) or _has_model(folder):
            continue
        going = couriers.living(folder) is not None or any(attempt.is_going() for attempt in attempts)
        if not going and all(_is_older(place, days) for place in [path, *(attempt.path for attempt in attempts)]):
            yield path


def _has_model(folder: JobFolder) -> bool:
    """Whether a run that is over may name its model here."""
    attempt = artifacts.newest(folder)
    ended = attempt.end() if attempt is not None else None
    return folder.order() is None and ended is not None and ended.get("exit_code") == Exit.FINISHED


def _entries(*parts: str) -> List[str]:
    folder = os.path.join(*parts)
    try:
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    except OSError:
        return []


def _is_older(path: str, days: float) -> bool:
    try:
        return time.time() - os.lstat(path).st_mtime > days * 86400
    except OSError:
        return False
