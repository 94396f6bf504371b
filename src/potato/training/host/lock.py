"""Doing something alone on this machine, or on a file system that several share."""

import fcntl
import os
import platform
import time
from typing import Callable, Optional

from potato.training.agent.folder import read_json
from potato.training.contract.files import write_json
from potato.training.worker import processes

_POLL_S = 0.1


class Lock:
    """A context. The system lets go of it when its holder dies; where the file system has no locks, a note of the
    holder decides, and one that names a dead process is of no account.

    `descriptor` may be handed to a child: then the lock is held until that is gone too. `waiting` is called again and
    again while another holds it.
    """

    def __init__(self, path: str, waiting: Callable[[], None] = lambda: None) -> None:
        self._path = path
        self._waiting = waiting
        self._noted = False
        self.descriptor = -1

    def __enter__(self) -> "Lock":
        self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            while not self._taken():
                self._waiting()
                time.sleep(_POLL_S)
        except BaseException:
            os.close(self.descriptor)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._noted:
            os.unlink(self._note)
        os.close(self.descriptor)

    @property
    def _note(self) -> str:
        return self._path + ".json"

    def _taken(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return self._take_by_note()
        return True

    def _take_by_note(self) -> bool:
        if self._holder_lives():
            return False
        me = processes.stat(os.getpid())
        note = {"host": platform.node(), "boot_id": processes.boot_id(), "pid": os.getpid()}
        write_json(self._note, dict(note, started=me.started if me else ""))
        time.sleep(_POLL_S)  # of two that came together, the later note stays
        self._noted = (read_json(self._note) or {}).get("pid") == os.getpid()
        return self._noted

    def _holder_lives(self) -> bool:
        """A holder on another machine is taken to live; its note goes when that is done."""
        note = read_json(self._note)
        if note is None:
            return False
        if note.get("boot_id") != processes.boot_id():
            return note.get("host") != platform.node()
        found: Optional[processes.Stat] = processes.stat(int(note.get("pid", 0)))
        return found is not None and found.lives and found.started == note.get("started")
