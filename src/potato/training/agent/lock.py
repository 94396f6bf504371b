"""One agent for each work folder and backend."""

import fcntl
import os
import platform
import time
import urllib.parse
from typing import Any, Dict, Optional

from potato.training.agent.folder import read_json
from potato.training.contract.files import write_json
from potato.training.worker import processes


class AlreadyRunning(Exception):
    """Another agent works in this folder; the sentence names it."""


class AgentLock:
    """Held by one agent a folder and backend. The system lets go of it when its holder is killed.

    A note beside it names the holder by host, boot, pid and start; on a file system without locks the note alone
    decides. An agent of another host (a home folder that several machines share) is then left to the server to judge:
    it knows which was heard last.
    """

    def __init__(self, workdir: str, backend: str) -> None:
        base = os.path.join(workdir, "agent-%s" % urllib.parse.quote(backend, safe=""))
        self._lock, self._note = base + ".lock", base + ".json"
        self._descriptor: Optional[int] = None

    def take(self) -> None:
        """Become the agent of this folder. Raises `AlreadyRunning`, and `OSError` where the folder takes nothing."""
        descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not _locked(descriptor) or self._runs_here():
                other = read_json(self._note) or {}
                raise AlreadyRunning(
                    "an agent for this backend is already running on %s, pid %s, since %s"
                    % (other.get("host", "this machine"), other.get("pid", "unknown"), other.get("since", "just now"))
                )
            write_json(self._note, _myself())
        except BaseException:
            os.close(descriptor)
            raise
        self._descriptor = descriptor

    def release(self) -> None:
        """Leave."""
        if self._descriptor is not None:
            os.unlink(self._note)
            os.close(self._descriptor)
            self._descriptor = None

    def _runs_here(self) -> bool:
        note = read_json(self._note)
        if note is None or note.get("boot_id") != processes.boot_id() or note.get("pid") == os.getpid():
            return False
        found = processes.stat(int(note.get("pid", 0)))
        return found is not None and found.lives and found.started == note.get("started")


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # no locks here: the note decides
    return True


def _myself() -> Dict[str, Any]:
    me = processes.stat(os.getpid())
    return {
        "pid": os.getpid(),
        "started": me.started if me else "",
        "host": platform.node(),
        "boot_id": processes.boot_id(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
    }
