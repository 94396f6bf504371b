"""`events.jsonl` of an attempt whose worker is a SLURM job: the worker's own lines, and the keeper's between them.

It holds all that is needed to go on after a keeper was killed: the newest start, how much of its events is here, and
where its output begins in `stderr.log`.
"""

import json
import os
import time
from typing import Any, Callable, Dict, List

from potato.training.contract.events import VERSION

_OWN = b'{"by":"agent",'
"""How a line of the keeper's own begins. A worker's begin with the version."""


class Journal:
    """Appends to the file at `path`, whole lines at a time."""

    def __init__(self, path: str, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.start = 0
        """The newest start that was begun here."""
        self.taken = 0
        """How many bytes of that start's events are here."""
        self.errors_from = 0
        """Where that start's output begins in `stderr.log`."""
        self.said = ""
        """The keeper's last line."""
        self.earlier: List[bytes] = []
        """The present start's lines that an earlier keeper brought here."""
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        self._recall()

    def status(self, step: str, **fields: Any) -> None:
        """What the job is doing: the run's step, and a line of its log. The same is not said twice on end."""
        if step != self.said:
            self._say("status", step, dict(fields, state="slurm", step=step))

    def log(self, message: str, level: str = "info") -> None:
        """A line of the run's log; the step stays."""
        if message != self.said:
            self._say("log", message, {"level": level, "msg": message})

    def error(self, code: str, message: str, hint: str) -> None:
        """Why the run failed."""
        self._say("error", message, {"code": code, "message": message, "install_hint": hint or None})

    def begin(self, start: int, errors_from: int) -> None:
        """From here on the events of this start follow."""
        again = "SLURM has started the job again: attempt %d" % start
        step = again if start > 1 else "SLURM has started the job"
        self._say("status", step, {"state": "slurm", "step": step, "attempt": start, "start": start, "at": errors_from})
        self.start, self.taken, self.errors_from = start, 0, errors_from

    def requeued(self, attempt: int) -> None:
        """The job waits again; `attempt` is what its next start will be."""
        self._say("log", "", {"level": "info", "msg": "SLURM has requeued the job: attempt %d" % attempt})

    def copy(self, lines: bytes) -> None:
        """Append whole lines of the present start's events."""
        self._write(lines)
        self.taken += len(lines)

    def _say(self, name: str, text: str, fields: Dict[str, Any]) -> None:
        line: Dict[str, Any] = {"by": "agent", "v": VERSION, "event": name, "t": self._clock()}
        line.update(fields)
        self._write(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        self.said = text

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._descriptor, data) :]

    def _recall(self) -> None:
        """Learn from the file how far an earlier keeper came. A line that it was killed in is written again."""
        whole = 0
        with open(self._descriptor, "rb", closefd=False) as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                if line.startswith(_OWN):
                    self._recall_own(line)
                else:
                    self.taken += len(line)
                    self.earlier.append(line)
        os.ftruncate(self._descriptor, whole)

    def _recall_own(self, line: bytes) -> None:
        raw = json.loads(line)
        self.said = str(raw.get("step") or raw.get("msg") or raw.get("message") or "")
        if "start" in raw:
            self.start, self.taken, self.errors_from = int(raw["start"]), 0, int(raw["at"])
            self.earlier.clear()
