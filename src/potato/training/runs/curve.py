"""The learning curve of a run: which points it has, and which are still to be run."""

from __future__ import annotations

from collections.abc import Sequence

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Connection
from potato.store.training import runs as rows
from potato.store.training.runs import Run, State
from potato.training.results.curves import SHARES
from potato.training.runs.folder import RunFolder
from potato.training.runs.request import RunRequest, trainer_info


class NoCurve(PotatoError):
    """There is nothing to run for a learning curve of this run."""

    code = "no_curve"
    status = 409


def points_to_run(connection: Connection, project: Project, run_id: str) -> Sequence[RunRequest]:
    """A request for each share of the training split that has neither a good end nor a place in the queue.

    Raises `UnknownRun` and `NoCurve`.
    """
    run = rows.get_or_raise(connection, run_id)
    _require_whole(project, run)
    there = {point.train_share for point in rows.curve(connection, run_id) if _counts(point)}
    missing = [share for share in SHARES if share not in there]
    if not missing:
        raise NoCurve(f"The learning curve of run {run_id} is there already, or is in the queue")
    return [
        RunRequest(run.trainer, run.schemas, run.backend, run.params, train_share=share, curve_of=run_id)
        for share in missing
    ]


def _counts(point: Run) -> bool:
    return point.state is State.SUCCESS or not point.is_finished


def _require_whole(project: Project, run: Run) -> None:
    again = "start the run again, and ask for the new run's learning curve"
    if trainer_info(run.trainer).calibrates_live:
        raise NoCurve(f"Run {run.run_id} is a calibration, which learns nothing from labels")
    if run.curve_of is not None:
        raise NoCurve(f"Run {run.run_id} is itself a point of the learning curve of {run.curve_of}")
    if run.state is not State.SUCCESS:
        raise NoCurve(f"Run {run.run_id} did not come to a good end, so it has no learning curve", hint=again)
    if run.files_removed or not RunFolder.of(project, run.run_id).bundle.is_dir():
        raise NoCurve(f"The labels of run {run.run_id} were removed with its files (retain_runs)", hint=again)
