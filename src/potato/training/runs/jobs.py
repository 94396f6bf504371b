"""A run as a backend gets it."""

from __future__ import annotations

from collections.abc import Callable

from potato.project.training import ModelTraining
from potato.store.training.runs import Run
from potato.training.backends import Job
from potato.training.runs.folder import RunFolder
from potato.training.runs.records import Records


def job_of(run: Run, settings: ModelTraining, folder: RunFolder, records: Records, log: Callable[[str], None]) -> Job:
    """The job of a run; what the backend tells of it goes into the run's row and its log."""
    return Job(
        run_id=run.run_id,
        attempt=run.attempt,
        trainer=run.trainer,
        schemas=run.schemas,
        params=run.params,
        seed=settings.split_seed,
        folder=folder.path,
        grace_seconds=settings.grace_seconds,
        step=lambda text: records.amend(run.run_id, step=text),
        log=log,
        amend=lambda **fields: records.amend(run.run_id, **fields),
        make_sure=records.make_sure,
    )
