"""The courier's side of a keeper: starting it, finding it again, and coming to terms with one that was killed."""

import os
import platform
import subprocess
import sys
import threading
import time
from typing import Any, Dict, Optional

import potato
from potato.training.agent.folder import Attempt, JobFolder
from potato.training.agent.workers import abandon
from potato.training.worker import launch

STARTS = 4
"""So many keepers may die without an end record; then there is something about this machine."""


class Keeping:
    """One attempt's keeper, as the courier sees it."""

    def __init__(self, folder: JobFolder, attempt: Attempt, poll_s: float) -> None:
        self._folder = folder
        self._attempt = attempt
        self._poll_s = poll_s
        self._starts = 0

    def look(self) -> Optional[Dict[str, Any]]:
        """How the attempt ended, once it has. A keeper that is not there is started: it takes over what runs."""
        if self._attempt.keeper_lives():
            return None
        ended = self._attempt.end()
        if ended is not None:
            return ended
        if self._starts >= STARTS:
            return self._end_without()
        self._start()
        return None

    def _start(self) -> None:
        self._starts += 1
        command = [sys.executable, "-m", "potato.training.agent.keeper"]
        command += [self._folder.workdir, self._folder.run_id, str(self._attempt.number)]
        try:
            with open(os.path.join(self._attempt.path, "keeper.log"), "ab") as log:
                child = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._attempt.path,
                    env=_environment(),
                    start_new_session=True,
                )
        except OSError:  # no memory, no processes left, no disk: the next look tries again
            time.sleep(self._poll_s)
            return
        while child.poll() is None and not self._attempt.keeper_lives():
            time.sleep(self._poll_s / 4)
        threading.Thread(target=child.wait, name="keeper-reaper", daemon=True).start()

    def _end_without(self) -> Dict[str, Any]:
        abandon(self._attempt)
        code = launch.exit_status(self._attempt.worker(), self._attempt.path)
        reason = "the job could not be looked after on %s; keeper.log there tells why" % platform.node()
        return {"exit_code": code, "reason": None if code == 0 else reason}


def end(attempt: Attempt, reason: str, limit_s: float) -> None:
    """End an attempt that nobody wants any more, and return when nothing of it runs."""
    attempt.ask_cancel(reason)
    until = time.monotonic() + limit_s
    while attempt.keeper_lives() and time.monotonic() < until:
        time.sleep(0.05)
    attempt.kill_keeper()
    abandon(attempt)


def _environment() -> Dict[str, str]:
    """This process's, and this very Potato found first."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(potato.__file__)))
    path = [root] + [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return dict(os.environ, PYTHONPATH=os.pathsep.join(path))
