"""The limits of a going run."""

from __future__ import annotations

import time

from potato.project.training import ModelTraining
from potato.store.clock import Clock, from_text
from potato.store.training.runs import Run
from potato.training.backends import Execution
from potato.training.runs import ends
from potato.training.runs.folder import RunFolder
from potato.training.runs.timing import Timing


class Limits:
    """Looked at while a run goes; each look raises what ends it.

    The wall-clock limit counts from the run's leaving the queue, over restarts of the server.
    """

    def __init__(self, settings: ModelTraining, folder: RunFolder, run: Run, clock: Clock, timing: Timing) -> None:
        self._settings = settings
        self._in_slurm = run.backend_type == "slurm"
        self._folder = folder
        self._timing = timing
        self._next = 0.0
        self._deadline: float | None = None
        if settings.max_wall_seconds is not None and run.started_at is not None:
            gone = max(0.0, (clock() - from_text(run.started_at)).total_seconds())
            self._deadline = time.monotonic() + settings.max_wall_seconds - gone

    def look_at_clock(self) -> None:
        """Raise `RunFailed` once `max_wall_seconds` have passed."""
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise ends.wall_time(self._settings.max_wall_seconds or 0.0, self._in_slurm)

    def look(self, execution: Execution) -> None:
        """Raise `RunFailed` where the run has passed a limit. Memory and files are measured once a `Timing.limits`."""
        if execution.delivered:
            return
        self.look_at_clock()
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._timing.limits
        self._look_at_memory(execution)
        self.look_at_predictions()

    def look_at_predictions(self) -> None:
        """Raise `RunFailed` where the predictions, finished or not, pass `max_predictions_mb`."""
        limit = self._settings.max_predictions_mb
        for path in self._folder.path.glob("predictions.jsonl*"):
            try:
                size = path.stat().st_size
            except FileNotFoundError:  # renamed meanwhile; the next look finds it
                continue
            if size > limit * 1_000_000:
                raise ends.predictions_too_large(size, limit)

    def _look_at_memory(self, execution: Execution) -> None:
        limit = self._settings.max_ram_mb
        used = execution.memory_mb() if limit is not None else None
        if limit is not None and used is not None and used > limit:
            raise ends.memory_limit(used, limit)
