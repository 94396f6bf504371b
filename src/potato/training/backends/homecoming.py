"""The end of a run that succeeded on a host: its model comes home, and the folder there goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from potato.training.backends.base import Job
from potato.training.backends.notes import Notes
from potato.training.backends.way import Way
from potato.training.contract.files import write_json
from potato.training.ssh.copying import Copying, Damaged, Listing, NotStored, Remote, listing
from potato.training.ssh.errors import HostFailed, HostSilent, Lost
from potato.training.ssh.session import Session
from potato.training.ssh.text import clean_path

COPY_NOTE = "copy.json"
"""There as long as the copy broke off; holds the `warnings` that people were told."""
BESIDE = "artifacts.part"
"""What has not come over whole yet, in the run's folder."""


class Homecoming:
    """Begun again after a break, it goes on where it was. `heard` is told of each sign of life."""

    def __init__(self, way: Way, job: Job, notes: Notes, heard: Callable[[], None]) -> None:
        self._heard = heard
        self._way = way
        self._settings = way.settings
        self._host = way.settings.host
        self._job = job
        self._notes = notes
        self._listing = Listing(0, "")
        self._said: set[str] = set()

    def run(self, session: Session) -> Sequence[str]:
        """Bring the model home, and remove the folder there, as the settings say. What went wrong are warnings: the
        predictions are here. Raises `Lost`."""
        try:
            self._listing = listing(session, self._job.run_id)
            wanted, stay = self._chosen()
            if wanted:
                self._copying().run(session, self._listing.attempt, wanted)
            if stay:
                self._notes.amend(artifact_uri=f"{self._host}:{self._listing.folder}")
        except HostSilent as error:
            raise Lost(error.message) from error  # perhaps only this connection is dead
        except (HostFailed, Damaged) as error:
            session.end()  # what is still on its way belongs to no other call
            return self._given_up(f"failed: {error}")
        except NotStored as error:
            session.end()
            return self._given_up(f"could not be stored on the server: {error}")
        self._remove(session, keep_artifacts=stay)
        (self._job.folder / COPY_NOTE).unlink(missing_ok=True)
        return ()

    def silent(self, uri: str) -> Sequence[str]:
        """Nothing came any more, by any connection. `uri` is where the agent said that the model is."""
        if not self._listing.folder:
            self._listing = Listing(0, clean_path(uri.partition(":")[2], 4000))
        return self._given_up(f"sent nothing for {self._way.timing.copy_silence:g} s")

    def _given_up(self, why: str) -> Sequence[str]:
        """The model's files stay there, and may be fetched later; what people are told of it."""
        folder = self._listing.folder
        told = f"The copy from {self._host} {why}; the model's files are still there"
        if folder:
            self._notes.amend(artifact_uri=f"{self._host}:{folder}")
            told = f"{told}, in {folder}"
        write_json(str(self._job.folder / COPY_NOTE), {"warnings": [told]})
        return [told]

    def _chosen(self) -> tuple[list[Remote], bool]:
        """The files to bring home, and whether others stay."""
        files = self._listing.files
        if not self._settings.fetch_artifacts:
            return [], bool(files)
        limit = self._settings.max_artifact_mb
        large = [file for file in files if file.size > limit * 1_000_000]
        for file in large:
            self._say_once(
                f"{file.path} ({file.size / 1e6:.0f} MB) stays on {self._host}: it is larger than {limit} MB"
                " (max_artifact_mb)"
            )
        if self._listing.odd:
            self._say_once(f"{self._listing.odd} files stay on {self._host}: their names cannot be used here")
        return [file for file in files if file not in large], bool(large or self._listing.odd)

    def _say_once(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._notes.say(text)

    def _copying(self) -> Copying:
        def progress(here: int, total: int) -> None:
            self._heard()
            done = f"{here / 1e6:.0f} of {total / 1e6:.0f} MB"
            self._notes.moving_step(f"copying the model from {self._host}: {done}")

        folder: Path = self._job.folder
        silence = min(self._way.timing.silence, self._way.timing.copy_silence)
        return Copying(self._job.run_id, folder / "artifacts", folder / BESIDE, silence, progress)

    def _remove(self, session: Session, keep_artifacts: bool) -> None:
        if self._settings.keep_remote:
            self._notes.say(f"the job's folder stays on {self._host} (keep_remote): {self._listing.folder}")
            return
        self._job.make_sure()
        try:
            session.call("remove", run_id=self._job.run_id, keep_artifacts=keep_artifacts)
        except (HostFailed, HostSilent) as error:
            self._notes.say(f"the job's folder on {self._host} could not be removed: {error.message}")
