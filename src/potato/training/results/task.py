"""The tasks `training.evaluate` and `training.tidy`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from potato.project import Project
from potato.store import Connection, Database
from potato.store.databases.pieces import PIECE
from potato.store.training import predictions
from potato.store.training.predictions import Stored
from potato.training.contract.bundle import Bundle
from potato.training.results import answers, curves, held_out, ranking, retention
from potato.training.results.take_in import TakeIn, Taken
from potato.training.results.writeback import Comparison, Verdict, decide


def evaluate(project: Project, database: Database, args: dict[str, Any]) -> dict[str, Any]:
    """Take in a run's predictions, score them, and judge which may be shown.

    Args: `run_id`, `schemas`, `folder` (the run's), `result` (the worker's last event), `curve_of` (for a point of a
    learning curve, the curve's run: then nothing goes live). Answers `scores`, `writeback`, `live` (the schemes to go
    live), `said` (a sentence on each listed scheme), `warnings`, and `lines` for the log. Nothing is shown by it yet.
    Raises `PredictionsRefused` and `BundleLost`.
    """
    folder = Path(args["folder"])
    if args.get("curve_of"):
        project = curves.showing_nothing(project)
    bundle = held_out.open_bundle(str(folder / "bundle"))
    taking = TakeIn(database, project, args["run_id"], args["schemas"])
    taken = taking.take(folder / "predictions.jsonl", args["result"], held_out.ids(bundle))
    scores = held_out.scores(project, bundle, taken.held_out)
    for name, said in taken.held_out.items():
        answers.store(database, bundle, args["run_id"], project.schemes[name], said)
    if args.get("curve_of"):
        scores = curves.beside_whole(project, database, args["run_id"], args["curve_of"], scores)
    compared = _compare(project, database, args["run_id"], bundle, taken)
    verdict = decide(project.config.model_training, taken.gates, scores, compared)
    if verdict.live and ranking.is_wanted(project):
        ranking.rank(database, args["run_id"])
    if args.get("curve_of"):
        verdict.report["reason"] = curves.NEVER_SHOWN
    return {
        "scores": scores,
        "writeback": verdict.report,
        "live": verdict.live,
        "said": verdict.said,
        "warnings": verdict.warnings,
        "lines": [*_score_lines(scores), *_writeback_lines(verdict)],
    }


def tidy(project: Project, database: Database, args: dict[str, Any]) -> dict[str, Any]:
    """Remove the leftovers of runs that ended early and the files of old ones, and see to the ranking by which items
    are handed out; answers the ids whose files went."""
    ranking.keep(project, database)
    return {"removed": retention.tidy(project, database)}


def _compare(project: Project, database: Database, run_id: str, bundle: Bundle, taken: Taken) -> dict[str, Comparison]:
    """Each scheme's new model beside the one that is live."""
    found: dict[str, Comparison] = {}
    with database.read() as connection:
        for scheme, live_run in predictions.live(connection).items():
            if scheme in taken.held_out and live_run != run_id:
                new = taken.held_out[scheme]
                old = _said(connection, live_run, scheme, list(new))
                found[scheme] = Comparison(live_run, *held_out.compare(project, bundle, scheme, new, old))
    return found


def _said(connection: Connection, run_id: str, scheme: str, ids: Sequence[str]) -> dict[str, Stored]:
    said: dict[str, Stored] = {}
    for start in range(0, len(ids), PIECE):
        said.update(predictions.said_of(connection, run_id, scheme, ids[start : start + PIECE]))
    return said


def _score_lines(scores: dict[str, Any]) -> list[str]:
    return [_score_line(name, entry["primary"]) for name, entry in scores.items()]


def _score_line(name: str, primary: dict[str, Any]) -> str:
    figure = primary["name"].replace("_", " ")
    if primary["value"] is None:
        return f"'{name}' is not evaluated: {primary['reason']}"
    return f"held-out {figure} of '{name}': {primary['value']:.3f}"


def _writeback_lines(verdict: Verdict) -> list[str]:
    report = verdict.report
    skips = ", ".join(f"{count} {gate.replace('_', ' ')}" for gate, count in report["skipped"].items() if count)
    lines = [
        f"write-back: {report['read']} read, {report['written']} written" + (f", skipped: {skips}" if skips else "")
    ]
    if report["reason"]:
        lines.append(f"write-back: {report['reason']}")
    return lines + [f"warning: {warning}" for warning in verdict.warnings]
