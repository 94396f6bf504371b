"""Carrying an attempt's files to the server: append at an offset, and the end record when all is there."""

import os
import time
from typing import Any, Dict, Mapping, Optional, Tuple

from potato.training.agent.client import Client, Job, Refused, TooLarge
from potato.training.agent.folder import Attempt
from potato.training.agent.patience import Patience, Timing
from potato.training.agent.stop import Stop, Stopped
from potato.training.agent.transport import Unreachable
from potato.training.contract.files import sha256_file

GROWING = ("events.jsonl", "stderr.log")
"""Carried while they grow."""
FILES = ("events.jsonl", "stderr.log", "predictions.jsonl")
"""What the server must hold whole before a job is done."""
SMALLEST_PIECE = 16 << 10
CUTS = 3
"""So many pieces in a row that did not arrive make the next ones shorter, for a while."""
RESENDS = 5
"""So often the server may find that it lacks a part of what was sent."""


class Carrier:
    """One attempt's files on their way."""

    def __init__(
        self, client: Client, job: Job, attempt: Attempt, patience: Patience, stop: Stop, timing: Timing
    ) -> None:
        self._client = client
        self._job = job
        self._attempt = attempt
        self._patience = patience
        self._stop = stop
        self._leave_s = timing.leave
        self._held: Dict[str, int] = {}
        self._digests: Dict[str, Dict[str, Any]] = {}
        self._piece = job.piece_bytes
        self._short = job.piece_bytes
        self._failures = 0
        self._due = 0.0

    def carry_growing(self) -> None:
        """Send what is new, not more often than the server wants it. Raises `Refused`."""
        if time.monotonic() < self._due:
            return
        pause = self._job.report_every_s
        try:
            with self._stop.raising():
                for name in GROWING:
                    if self._carry(name):
                        self._patience.answered()
        except Unreachable as error:
            self._patience.failed(error)
            pause = max(pause, self._patience.pause())
        except Stopped:
            pass  # the caller looks whether it is to stop
        self._due = time.monotonic() + pause

    def deliver(self, record: Mapping[str, Any], files: bool) -> None:
        """Hand over the end record, and every file before it where there are `files`.

        Asks until the server answers. Raises `Refused` where the server wants nothing more of this run, and `Stopped`
        where somebody does not want to wait for it any longer.
        """
        leave_at: Optional[float] = None
        resends = 0
        while True:
            if leave_at is None and self._stop.is_set():
                leave_at = time.monotonic() + self._leave_s
                self._client.limit_s = self._leave_s / 2
            try:
                with self._stop.raising():
                    self._hand_over(record, FILES if files else ())
                self._patience.answered()
                return
            except Stopped:
                if leave_at is not None:
                    raise  # asked twice
            except Refused as refused:
                resends += 1
                if refused.code != "incomplete" or resends > RESENDS:
                    raise
                self._held = {name: int(length) for name, length in dict(refused.body.get("held") or {}).items()}
            except Unreachable as error:
                self._patience.failed(error)
                if leave_at is not None and time.monotonic() >= leave_at:
                    raise Stopped from error
                self._rest(leave_at)

    def _rest(self, leave_at: Optional[float]) -> None:
        pause = self._patience.pause()
        if leave_at is None:
            self._stop.wait(pause)
        else:
            time.sleep(max(0.0, min(pause, leave_at - time.monotonic())))

    def _hand_over(self, record: Mapping[str, Any], names: Tuple[str, ...]) -> None:
        """Raises `Refused`, `Unreachable`."""
        present = [name for name in names if os.path.exists(self._path(name))]
        try:
            for name in present:
                self._carry(name)
        except Refused as refused:
            if refused.code != "run_is_over":
                raise
            # Perhaps it is over because this very end record was taken, and the answer was lost.
        self._client.result(self._job, dict(record, files={name: self._declared(name) for name in present}))

    def _carry(self, name: str) -> bool:
        """Send what the server lacks of a file, piece by piece from the offset that it holds; whether anything was
        sent."""
        try:
            file = open(self._path(name), "rb")  # noqa: SIM115 - closed below; it may not be there yet
        except FileNotFoundError:
            return False
        sent = False
        with file:
            while True:
                offset = self._held.get(name, 0)
                file.seek(offset)
                piece = file.read(min(self._piece, self._short))
                if not piece:
                    return sent
                try:
                    self._held[name] = self._client.put(self._job, name, offset, piece)
                except TooLarge:
                    if self._piece <= SMALLEST_PIECE:
                        raise
                    self._piece = max(SMALLEST_PIECE, self._piece // 2)
                    continue
                except Unreachable:
                    self._shorten(len(piece))
                    raise
                self._failures, self._short = 0, 2 * self._short
                sent = True
                if self._held[name] == offset:
                    return sent  # it takes nothing more just now

    def _shorten(self, length: int) -> None:
        """A piece did not arrive: perhaps something on the way cuts what is longer than it likes."""
        self._failures += 1
        if self._failures >= CUTS:
            self._failures, self._short = 0, max(SMALLEST_PIECE, length // 2)

    def _declared(self, name: str) -> Dict[str, Any]:
        """A file as its receiver checks it; it has come to rest."""
        if name not in self._digests:
            path = self._path(name)
            self._digests[name] = {"bytes": os.path.getsize(path), "sha256": sha256_file(path)}
        return self._digests[name]

    def _path(self, name: str) -> str:
        return os.path.join(self._attempt.path, name)
