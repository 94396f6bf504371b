"""`python -m potato.training.agent.keeper WORKDIR RUN ATTEMPT`: owns the worker of one attempt.

It is a process of its own session, so it outlives a courier that is killed or loses its terminal. It starts the
worker (see `workers`), or takes over the one that a killed keeper left; ends it when it is told to, or when the lease
has not been renewed for `give_up_s`; and leaves `ended.json` as its last act. Nothing else of it is an interface.
"""

import fcntl
import os
import platform
import signal
import sys
import time
import traceback
from contextlib import contextmanager
from typing import Any, Iterator, List, Mapping, Optional

from potato.training.agent import workers
from potato.training.agent.folder import Attempt, JobFolder
from potato.training.agent.workers import POLL_S, Worker
from potato.training.contract.exits import Exit
from potato.training.contract.lease import Lease
from potato.training.contract.spec import Spec

BEAT_S = 5.0
STOPPED = "stopped"
CANCELLED = "cancelled"
LOST = "the server was out of reach"
LATER_S = 5.0
"""A worker that nobody looks after any more ends itself so much later than its keeper would have had it ended."""


class Keeper:
    """One attempt's worker, from its start to its end record."""

    def __init__(self, folder: JobFolder, attempt: Attempt, order: Mapping[str, Any]) -> None:
        self._folder = folder
        self._attempt = attempt
        self._order = order
        self._job: Mapping[str, Any] = order["job"]
        self._grace = float(self._job.get("grace_seconds", 20.0))
        self._patience = _patience(self._job)
        self._lease = Lease(attempt.lease_path, self._patience)
        self._told = False

    def tell(self, signal_number: int, frame: Any) -> None:
        """The signal handler: the machine goes down, or the disk is too full for a note."""
        self._told = True

    def run(self) -> None:
        """See the worker to its end."""
        self._attempt.note_keeper()
        worker = workers.choose(self._folder, self._attempt, self._order, self._spec())
        try:
            begun = self._begin(worker)
        except Exception as error:
            traceback.print_exc()
            self._attempt.note_end({"exit_code": None, "reason": self._not_started(error)})
            return
        if begun:
            record = worker.record(self._look_after(worker))
        else:
            reason = self._reason_to_end()
            record = {"exit_code": int(Exit.CANCELLED), "reason": reason, "ran_out_of_memory": False}
        self._attempt.note_end(record)

    def _begin(self, worker: Worker) -> bool:
        """Take over what runs already, where an earlier keeper was killed, or start it; false where it is not to
        begin."""
        if worker.find():
            return True
        if self._reason_to_end() is not None:
            return False
        worker.start()
        return True

    def _look_after(self, worker: Worker) -> Optional[str]:
        """Until it is over; why it was ended, if it was."""
        reason: Optional[str] = None
        kill_at: Optional[float] = None
        beat_at = 0.0
        while worker.goes_on():
            now = time.monotonic()
            if reason is None:
                reason = self._reason_to_end()
                if reason is not None:
                    worker.stop()
                    kill_at = now + self._grace
            elif kill_at is not None and now >= kill_at:
                worker.kill()
                kill_at = None
            if now >= beat_at:
                self._attempt.beat()
                beat_at = now + BEAT_S
            time.sleep(POLL_S)
        return reason

    def _reason_to_end(self) -> Optional[str]:
        reason = self._attempt.cancel_reason()
        if reason is None and self._told:
            reason = STOPPED
        if reason is None and self._lease.ran_out():
            reason = LOST
        return reason

    def _not_started(self, error: Exception) -> str:
        if isinstance(error, FileNotFoundError) and error.filename == self._order["python"]:
            return "%s was not found on %s" % (error.filename, platform.node())
        return "the worker could not be started on %s: %s" % (platform.node(), error)

    def _spec(self) -> Spec:
        job = self._job
        return Spec(
            run_id=self._folder.run_id,
            trainer=str(job["trainer"]),
            schemas=[str(name) for name in job["schemas"]],
            bundle=self._folder.bundle,
            work_dir=self._attempt.path,
            params=dict(job["params"]),
            seed=int(job["seed"]),
            device=str(job.get("device") or "auto"),
            num_threads=job.get("num_threads"),
            grace_seconds=self._grace,
            lease=self._attempt.lease_path,
            lease_s=self._patience + self._grace + LATER_S,
        )


def _patience(job: Mapping[str, Any]) -> float:
    """How long a job goes on without a renewed lease. One that is to end with its connection is cancelled by the
    courier, which sees that break; the lease is for a courier that was killed, and no slow answer may end it."""
    return float(job.get("give_up_s", 300.0)) or float(job.get("heartbeat_timeout_s", 120.0))


def main(arguments: List[str]) -> int:
    """Keep one attempt, unless it has ended."""
    workdir, run_id, number = arguments
    folder = JobFolder(workdir, run_id)
    attempt = folder.attempt(int(number))
    order = folder.order()
    if order is None:
        print("there is no job in %s" % folder.path, file=sys.stderr)  # noqa: T201 - its log
        return 2
    attempt.make()
    with _alone(attempt.lock):
        if attempt.end() is None:
            keeper = Keeper(folder, attempt, order)
            for signal_number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(signal_number, keeper.tell)
            keeper.run()
    return 0


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """One keeper an attempt: a second waits until the first is gone. The system lets go of a killed one's lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:  # a network file system without locks
            print("cannot lock %s: %s" % (path, error), file=sys.stderr)  # noqa: T201 - its log
        yield
    finally:
        os.close(descriptor)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
