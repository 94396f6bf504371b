"""The call `tidy`: what earlier runs left, and nobody needs any more."""

import os
import time
from contextlib import suppress
from typing import Any, Dict, Iterator, List, Mapping

from potato.training.agent.folder import JobFolder
from potato.training.contract.exits import Exit
from potato.training.host import artifacts, couriers
from potato.training.host.leftovers import clear
from potato.training.host.session import Session

DAYS = {"code": 30.0, "jobs": 7.0, "half_made": 1.0}
"""How long each lies untouched before it goes."""
KEEP = "keep"
"""A job folder with a file of this name is to stay."""


def tidy(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """Remove old code, the folders of jobs that ended long ago and keep no model, and what was only half made.

    `removed` are the paths; what cannot be removed stays. `days` overrides `DAYS`. Ages are by this machine's clock.
    """
    days = dict(DAYS, **dict(call.get("days") or {}))
    removed: List[str] = []
    for path in [
        *_half_made(session.remote_dir, days["half_made"]),
        *_code(session.remote_dir, str(call.get("keep_code")), days["code"]),
        *_jobs(session.remote_dir, days["jobs"]),
    ]:
        session.progress("removing what earlier runs left")
        with suppress(OSError):  # somebody else's, or in use: it does no more harm than before
            clear(path)
            removed.append(path)
    return {"removed": removed}


def _half_made(root: str, days: float) -> Iterator[str]:
    """What was written beside its place, and environments that were never finished."""
    for path in _entries(root, "code"):
        if path.endswith(".part") and _is_older(path, days):
            yield path
    for path in _entries(root, "envs"):
        finished = os.path.exists(os.path.join(path, "complete.json"))
        if os.path.isdir(path) and not finished and _is_older(path, days):
            yield path
    for path in _entries(root):
        if os.path.basename(path).startswith(".trial-") and _is_older(path, days):
            yield path


def _code(root: str, keep: str, days: float) -> Iterator[str]:
    """Copies that no log-in has used for so long, and no job that is not over."""
    orders = (JobFolder(root, os.path.basename(path)).order() for path in _entries(root, "jobs"))
    used = {os.path.basename(str(order.get("code"))) for order in orders if order is not None}
    for path in _entries(root, "code"):
        if os.path.basename(path) not in used | {keep} and not path.endswith(".part") and _is_older(path, days):
            yield path


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
