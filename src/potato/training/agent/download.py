"""Bringing the bundle over: in ranges, resumed where it broke, checked, unpacked."""

import os
from typing import BinaryIO, Callable, Optional

from potato.training.agent.client import Client, Job
from potato.training.agent.folder import JobFolder
from potato.training.agent.keeper import LOST, STOPPED
from potato.training.agent.patience import Patience
from potato.training.agent.stop import Stop, Stopped
from potato.training.agent.transport import CutOff, Sink, Unreachable
from potato.training.agent.unpack import unpack
from potato.training.contract.files import sha256_file

TRIES = 5


class BundleNotFetched(Exception):
    """The bundle could not be brought over; the sentence says why."""


class Interrupted(Exception):
    """The job is to end before it began; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Download:
    """One job's bundle on its way. `interruption` answers why the job is to end, once it is."""

    def __init__(
        self,
        client: Client,
        job: Job,
        folder: JobFolder,
        patience: Patience,
        stop: Stop,
        interruption: Callable[[], Optional[str]],
    ) -> None:
        self._client = client
        self._job = job
        self._folder = folder
        self._patience = patience
        self._stop = stop
        self._interruption = interruption

    def run(self) -> None:
        """Put the unpacked bundle into the job's folder, unless it is there already.

        Raises `BundleNotFetched` when the server is out of reach for too long, or the transfer breaks off `TRIES`
        times without a byte between, or comes damaged twice; `UnsafeArchive`, `Interrupted`, `Refused`; `OSError` and
        `NotStored` where the disk is full.
        """
        if os.path.isdir(self._folder.bundle):
            return
        archive = self._folder.archive
        for _ in range(2):
            self._download(archive)
            if sha256_file(archive) == self._job.bundle_sha256:
                unpack(archive, self._folder.bundle)
                os.unlink(archive)
                return
            os.unlink(archive)
        raise BundleNotFetched("the bundle came over damaged twice; something on the way changes what it carries")

    def _download(self, path: str) -> None:
        broken = 0
        with open(path, "ab") as file:
            if file.tell() > self._job.bundle_bytes:
                file.truncate(0)
            while file.tell() < self._job.bundle_bytes:
                before = file.tell()
                error = self._part(file)
                if error is None:
                    broken = 0
                    continue
                broken = broken + 1 if file.tell() == before and isinstance(error, CutOff) else 0
                self._may_go_on(error, broken)
                if file.tell() == before:
                    self._stop.wait(self._patience.pause())

    def _part(self, file: BinaryIO) -> Optional[Unreachable]:
        """Ask for the next range; what went wrong. All that came is in the file."""
        start = file.tell()
        end = min(self._job.bundle_bytes, start + self._client.longest_range)
        self._look()
        try:
            with self._stop.raising():
                self._client.bundle(self._job, start, end, self._into(file))
        except Stopped:
            raise Interrupted(STOPPED) from None
        except Unreachable as error:
            self._patience.failed(error)
            return error
        self._patience.answered()
        return None

    def _may_go_on(self, error: Unreachable, broken: int) -> None:
        self._look()
        if broken >= TRIES:
            raise BundleNotFetched("the bundle could not be downloaded: %s" % error) from error
        if self._patience.away_for() > self._job.give_up_s:
            raise BundleNotFetched(LOST) from error

    def _look(self) -> None:
        reason = self._interruption()
        if reason is not None:
            raise Interrupted(reason)

    def _into(self, file: BinaryIO) -> Sink:
        def write(piece: bytes) -> None:
            self._look()
            file.write(piece)
            file.flush()  # after a crash the download goes on from here

        return write
