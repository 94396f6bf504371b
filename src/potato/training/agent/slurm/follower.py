"""Following a job's files over storage that lags: the newest start's events, in order and whole, into the journal."""

import os
import time
from typing import Dict, Optional

from potato.training.agent.slurm import starts
from potato.training.agent.slurm.journal import Journal
from potato.training.agent.slurm.settings import Monotonic
from potato.training.agent.slurm.starts import Start
from potato.training.contract.events import Event, decode

PIECE = 4 << 20


class Follower:
    """Follows the job in `folder`. What an older start still writes is not taken.

    The worker's final record stays out of the journal until `release`: only the job's end tells whether it counts.
    """

    def __init__(self, folder: str, journal: Journal, every_s: float, clock: Monotonic = time.monotonic) -> None:
        self._folder = folder
        self._journal = journal
        self._every_s = every_s
        self._clock = clock
        self._errors = os.path.join(folder, "stderr.log")
        self._due = 0.0
        self._left = 0
        self._record = b""
        self._complete = False
        self.start = Start(folder, journal.start, clock)
        self.begun_at = self.grown_at = self._clock()
        """When the newest start was seen first, and when anything new was seen last."""
        self.speaks = journal.taken > 0
        """Whether the worker of the newest start has said a word."""
        self.final: Optional[Event] = None
        """Its `result` or `error`, once that is here."""
        self.artifacts: Dict[str, int] = {}
        """The model files that it told of, with their bytes."""
        for line in journal.earlier:
            self._take(line[:-1])

    def look(self, at_once: bool = False) -> None:
        """Take over what is new, not more often than is sensible."""
        if not at_once and self._clock() < self._due:
            return
        newest = starts.newest(self._folder)
        if newest > self.start.number:
            self._begin(newest)
        if self.start.number:
            self._copy_output()
            self._copy_events()
            self._complete = self._complete or self._find_all()
        self._due = self._clock() + self._every_s

    def leave(self) -> None:
        """The job is to be started again: nothing more of the present start is taken, unless it comes to a whole
        success before the next one begins."""
        self._left = self.start.number
        self._clear()

    @property
    def has_left(self) -> bool:
        """Whether the newest start is one that `leave` was called for."""
        return self._left == self.start.number != 0

    @property
    def is_complete(self) -> bool:
        """Whether the worker has left its exit code, and everything that its final record announces."""
        return self._complete

    @property
    def has_succeeded(self) -> bool:
        """Whether that is a success."""
        return self._complete and is_success(self.final)

    def release(self) -> None:
        """Let the final record into the journal."""
        self._journal.copy(self._record)
        self._record = b""

    def _begin(self, number: int) -> None:
        self.start = Start(self._folder, number, self._clock)
        self._clear()
        self.speaks = False
        self._journal.begin(number, _size(self._errors))
        self.begun_at = self.grown_at = self._clock()

    def _clear(self) -> None:
        self.final, self._record, self.artifacts, self._complete = None, b"", {}, False

    def _copy_events(self) -> None:
        if self.final is not None:
            return
        data = _read(self.start.events, self._journal.taken)
        taken = 0
        for line in data.split(b"\n")[:-1]:
            self._take(line)
            if self.final is not None:
                self._record = line + b"\n"
                break
            taken += len(line) + 1
        if self.has_left:
            self._hold_back(data[:taken])
        else:
            self._journal.copy(data[:taken])
        if taken or self.final is not None:
            self.speaks, self.grown_at = True, self._clock()

    def _hold_back(self, data: bytes) -> None:
        """What comes of a start that was left waits for its success."""
        if is_success(self.final):
            self._record = data + self._record
        else:
            self._clear()

    def _take(self, line: bytes) -> None:
        event = decode(line)
        if event.name in ("result", "error"):
            self.final = event
        elif event.name == "artifact":
            self.artifacts[str(event.fields.get("path"))] = int(event.fields.get("bytes") or 0)

    def _copy_output(self) -> None:
        if self.has_left:
            return
        data = _read(self.start.stderr, _size(self._errors) - self._journal.errors_from)
        if data:
            with open(self._errors, "ab") as file:
                file.write(data)
            self.grown_at = self._clock()

    def _find_all(self) -> bool:
        if self.final is None or self.start.exit_code() is None:
            return False
        if not is_success(self.final):
            return True
        return self.start.lacks(self.artifacts) is None and self.start.has_predictions(self.final)


def is_success(final: Optional[Event]) -> bool:
    """Whether a final record tells of success."""
    return final is not None and final.name == "result" and final.fields.get("status") == "success"


def _size(path: str) -> int:
    return os.path.getsize(path) if os.path.exists(path) else 0


def _read(path: str, offset: int) -> bytes:
    """What a file holds from `offset` on. One that is shorter just now, or holds zeros where its bytes have not come
    yet, is a lagging view of itself."""
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            data = file.read(PIECE)
    except OSError:
        return b""
    return data.partition(b"\0")[0]
