"""Showing a run's suggestions although it was refused, or again: one action of an admin's, which is recorded."""

from __future__ import annotations

from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Connection
from potato.store.training import predictions, retraining
from potato.store.training import runs as rows
from potato.store.training.retraining import Decision
from potato.store.training.runs import Run, State
from potato.training.results.gates import Gate


class NothingToShow(PotatoError):
    """The run has no suggestions that could be shown. Nothing was changed."""

    code = "nothing_to_show"
    status = 409

    def __init__(self, reason: str, hint: str | None = None) -> None:
        super().__init__(f"This run's suggestions cannot be shown: {reason}", hint=hint)


def can_show(run: Run, project: Project) -> list[str]:
    """The schemes of a run whose suggestions an admin may have shown, and that are not shown now."""
    listed = project.config.model_training.writeback.schemas
    if run.state is not State.SUCCESS or run.curve_of is not None:
        return []
    return [name for name in run.schemas if name in listed and name not in run.live and _passed(run, name)]


def was_shown(run: Run, name: str) -> bool:
    """Whether a scheme's suggestions have been shown before: its model took over, or an admin had them shown."""
    entry = ((run.writeback or {}).get("by_scheme") or {}).get(name) or {}
    return bool(entry.get("takes_over", entry.get("written")) or entry.get("shown_anyway"))


def show(connection: Connection, project: Project, run_id: str, by: str, now: str) -> Run:
    """Show a run's suggestions in place of those that are shown, whatever its score; the run as it is then. Those that
    other gates hold back stay back. Repeating it is harmless. Raises `UnknownRun` or `NothingToShow`."""
    run = rows.get_or_raise(connection, run_id)
    names = can_show(run, project)
    if not names:
        if run.live:
            return run
        raise _refusal(run, project)
    if not predictions.has_any(connection, run_id):
        raise NothingToShow("its predictions were removed to make room (retain_runs)", "run it again")
    report = dict(run.writeback or {})
    for name in names:
        report = _overridden(report, name, by, now)
    passed = {name: _passed(run, name) for name in names}
    predictions.set_live(connection, run_id, names, now, passed, project.schemes)
    rows.amend(connection, run_id, writeback=report)
    for name in names:
        why = (run.writeback or {})["by_scheme"][name].get("reason")
        although = f" although {why}" if why else " again"
        sentence = f"'{name}': {by} had this model's suggestions shown{although}"
        retraining.log(connection, Decision(now, "shown_anyway", sentence, run_id))
    return rows.get_or_raise(connection, run_id)


def _passed(run: Run, name: str) -> int:
    entry = ((run.writeback or {}).get("by_scheme") or {}).get(name) or {}
    passed: int = entry["passed"] if "passed" in entry else entry.get("written", 0)
    return passed


def _overridden(report: dict[str, Any], name: str, by: str, now: str) -> dict[str, Any]:
    """The report once the score's gate is overridden for a scheme; what it said before stays beside it."""
    entry = dict(report["by_scheme"][name])
    more: int = entry.get("passed", entry["written"]) - entry["written"]
    entry["written"] += more
    entry["shown_anyway"] = {"by": by, "at": now}
    skipped = dict(report["skipped"])
    if more:
        skips = dict(entry["skipped"])
        for counts in (skips, skipped):
            counts[Gate.LOW_SCORE.value] -= more
        entry["skipped"] = skips
    return {
        **report,
        "written": report["written"] + more,
        "skipped": skipped,
        "by_scheme": {**report["by_scheme"], name: entry},
    }


def _refusal(run: Run, project: Project) -> NothingToShow:
    if run.state is not State.SUCCESS:
        return NothingToShow(f"it is '{run.state.value}'", "only a run that has succeeded has suggestions")
    if run.curve_of is not None:
        return NothingToShow("it is a point of a learning curve", "show those of the curve's own run")
    if not set(run.schemas) & set(project.config.model_training.writeback.schemas):
        return NothingToShow("its schemes are not listed under writeback.schemas", "list them there, and start again")
    return NothingToShow(
        "none of its predictions passed the other gates", "the run's page tells what held each of them back"
    )
