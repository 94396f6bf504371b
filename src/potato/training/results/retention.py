"""What finished runs leave behind, and for how long."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from potato.project import Project
from potato.store import Connection, Database
from potato.store.databases.pieces import PIECE
from potato.store.training import held_out, predictions
from potato.store.training import runs as rows
from potato.store.training.runs import FINISHED, Run, State
from potato.training.results import metric_curves
from potato.training.results.take_in import remove_all


def tidy(project: Project, database: Database) -> list[str]:
    """Delete predictions of runs that did not come to success, and the files and predictions of finished runs beyond
    the newest `retain_runs`; a run whose pre-labels are live, whose model was published, or whose learning curve is
    still being run, keeps both. Returns the ids whose files went."""
    with database.read() as connection:
        finished = _newest_first(connection)
        stored = predictions.runs_with_predictions(connection)
        kept = {run.run_id for run in finished if _is_kept(run)} | _needed(connection)
    old = _old(finished, kept, project.config.model_training.retain_runs)
    unwanted = {run.run_id for run in finished if run.state is not State.SUCCESS} | {run.run_id for run in old}
    for run_id in sorted(stored & unwanted):
        remove_all(database, run_id)
    for run in finished:
        if run.state is not State.SUCCESS and run.digest is not None:
            remove_held_out(database, run.run_id)
    for run in finished:
        if not run.files_removed and run not in old:
            metric_curves.keep(project.runs_dir / run.run_id)
    return [run.run_id for run in old if not run.files_removed and _remove_files(project, database, run.run_id)]


def remove_held_out(database: Database, run_id: str) -> None:
    """Delete a run's held-out answers, in short transactions."""
    removed = 1
    while removed:
        with database.write() as connection:
            removed = held_out.remove_some(connection, run_id, PIECE)


def _newest_first(connection: Connection) -> Sequence[Run]:
    return list(reversed(rows.in_states(connection, FINISHED)))


def _is_kept(run: Run) -> bool:
    return bool(run.live or run.published)


def _needed(connection: Connection) -> set[str]:
    """The runs of whose labels a point of their learning curve is still to be trained."""
    unfinished = rows.in_states(connection, frozenset(State) - FINISHED)
    return {run.curve_of for run in unfinished if run.curve_of is not None}


def _old(finished: Sequence[Run], kept: set[str], retained: int) -> Sequence[Run]:
    """Those beyond the newest `retained`, but for those to be `kept`, which do not count. A point of a learning curve
    does not count either: it goes with the run whose curve it is."""
    replaceable = [run for run in finished if run.run_id not in kept and run.curve_of is None]
    old = replaceable[retained:]
    gone = {run.run_id for run in old}
    return [*old, *(run for run in finished if run.curve_of in gone)]


def _remove_files(project: Project, database: Database, run_id: str) -> bool:
    with database.write() as connection:
        run = rows.get_or_raise(connection, run_id)
        if _is_kept(run) or run_id in _needed(connection):
            return False
        rows.amend(connection, run_id, files_removed=True)
    shutil.rmtree(project.runs_dir / run_id, ignore_errors=True)
    return True
