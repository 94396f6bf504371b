"""What a job leaves in its folder: `start-N/` for each time that SLURM starts it, made by `job.sh` on the node.

The worker of one start writes there and nowhere else, so one that was thought dead cannot reach into a newer one.
"""

import contextlib
import os
import time
from typing import Dict, Optional

from potato.training.agent.slurm.settings import Monotonic
from potato.training.contract.events import Event
from potato.training.contract.files import sha256_file

PREFIX = "start-"
OUTPUT = "slurm.out"
OWNER = "owner"
BEGINS = "--- start "
"""How `job.sh` marks in its output where a start begins."""
BROUGHT = ("predictions.jsonl", "artifacts")
CHECK_S = 2.0
_LONGEST = 2000


class Start:
    """The folder of one start."""

    def __init__(self, folder: str, number: int, clock: Monotonic = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self.number = number
        self.path = os.path.join(folder, "%s%d" % (PREFIX, number))
        self.events = os.path.join(self.path, "events.jsonl")
        self.stderr = os.path.join(self.path, "stderr.log")
        self._check_at = 0.0
        self._is_whole = False

    def exit_code(self) -> Optional[int]:
        """What the worker left as its last act."""
        text = read_text(os.path.join(self.path, "exit_code"))
        return int(text) if text.strip().lstrip("-").isdigit() else None

    def failed(self) -> str:
        """Why `job.sh` did not start the worker: a sentence; empty where it did."""
        return read_text(os.path.join(self.path, "failed")).strip()

    def bring_up(self) -> None:
        """Put the predictions and the model's files where a worker that was no job leaves them: in the attempt's own
        folder."""
        for name in BROUGHT:
            with contextlib.suppress(FileNotFoundError):
                os.rename(os.path.join(self.path, name), os.path.join(self._folder, name))

    def has_predictions(self, result: Event) -> bool:
        """Whether the predictions are those that the worker's result is about."""
        path = self._place("predictions.jsonl")
        try:
            if os.path.getsize(path) != result.fields.get("predictions_bytes"):
                return False
        except OSError:
            return False
        if not self._is_whole and self._clock() >= self._check_at:  # a large file is not read again and again
            self._check_at = self._clock() + CHECK_S
            self._is_whole = sha256_file(path) == result.fields.get("predictions_sha256")
        return self._is_whole

    def lacks(self, artifacts: Dict[str, int]) -> Optional[str]:
        """A model file of those named, with their bytes, that is not whole here."""
        for path, size in artifacts.items():
            whole = os.path.join(self._place("artifacts"), *path.split("/"))
            if not os.path.isfile(whole) or os.path.getsize(whole) != size:
                return path
        return None

    def _place(self, name: str) -> str:
        """Where that is: an earlier keeper may have brought it up."""
        path = os.path.join(self.path, name)
        return path if os.path.exists(path) else os.path.join(self._folder, name)


def newest(folder: str) -> int:
    """The number of the newest start; 0 where the job was never started."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return 0
    numbers = [name[len(PREFIX) :] for name in names if name.startswith(PREFIX)]
    return max([int(number) for number in numbers if number.isdigit()], default=0)


def owner(folder: str) -> Optional[int]:
    """The job that was started first, by its own words: a second one of the same run leaves at once."""
    text = read_text(os.path.join(folder, OWNER)).strip()
    return int(text) if text.isdigit() else None


def disown(folder: str) -> None:
    """Let another job do this run."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder, OWNER))


def tail(folder: str) -> str:
    """The end of what SLURM and the job's script printed since the newest start."""
    text = read_text(os.path.join(folder, OUTPUT), last=8192)
    return text[max(0, text.rfind(BEGINS)) :]


def last_line(folder: str, start: Start) -> str:
    """What the worker, or else the job's script, printed last."""
    for text in (read_text(start.stderr), tail(folder)):
        lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(BEGINS)]
        if lines:
            return lines[-1][:200]
    return ""


def refresh(folder: str) -> None:
    """Have a network file system look at a folder afresh: its own change there makes what it remembers void."""
    path = os.path.join(folder, ".refresh-%d" % os.getpid())
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
        os.unlink(path)


def read_text(path: str, last: int = _LONGEST) -> str:
    """The end of a file, at most `last` bytes; empty where there is none."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - last))
            return file.read().decode("utf-8", "replace")
    except OSError:
        return ""
