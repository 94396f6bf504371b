"""Workers of `local` runs that go on on this machine although their runs are over.

A server on another machine that was elected cannot follow a worker of this one: it ends the run, and the worker goes on
for nothing. Whichever server of the project runs on this machine ends it then.
"""

from __future__ import annotations

import logging
from pathlib import Path

from potato.project import Project
from potato.store import Database
from potato.store.training import runs
from potato.training.worker import launch
from potato.training.worker.launch import Launched

_log = logging.getLogger("potato.servers")


class Orphans:
    """Those of one project. For one thread."""

    def __init__(self, project: Project, database: Database) -> None:
        self._folder = project.runs_dir
        self._database = database
        self._living: dict[str, Launched] = {}

    def find(self) -> None:
        """See which workers live on this machine, whatever is to become of them."""
        self._living = {path.parent.name: worker for path in self._notes() if (worker := _living(path.parent))}

    def end(self) -> None:
        """End those that were found whose runs are over by now. Raises `StoreUnreachable`."""
        if not self._living:
            return
        with self._database.read() as connection:
            found = {run_id: runs.get(connection, run_id) for run_id in self._living}
        for run_id, run in found.items():
            worker = self._living[run_id]
            if run is not None and run.is_finished and launch.alive(worker):
                _log.warning("run %s is over: its worker, which nobody followed any more, is ended", run_id)
                launch.terminate(worker, 0.0)
            if not launch.alive(worker):
                del self._living[run_id]

    def _notes(self) -> list[Path]:
        return sorted(self._folder.glob("*/worker.json"))


def _living(folder: Path) -> Launched | None:
    """The worker that a run's folder names, where it lives here."""
    try:
        worker = launch.read(str(folder))
    except (OSError, ValueError) as error:
        _log.warning("%s: %s", folder, error)
        return None
    return worker if worker is not None and launch.alive(worker) else None
