"""What the two pages show, gathered from the store and the run's folder and put into the words of the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from potato.project import Project
from potato.store import Connection
from potato.store.clock import from_text
from potato.store.training import agents
from potato.store.training import runs as stored
from potato.training.backends import BackendInfo, describe
from potato.training.runs.folder import RunFolder
from potato.training.runs.model import GOING, Run, State, as_json
from potato.training.runs.showing import can_show, was_shown
from potato.training.web import figures, gates, pieces, plots
from potato.training.web.files import artifacts, file_size, size_text
from potato.training.web.listings import scheme_list, trainer_list
from potato.web.render import ago

PAGE = 50
"""Runs in one page of the table."""

HISTORY = 200
"""Runs in the plots of scores."""

LOG_BYTES = 32 * 1024
"""How much of the log's end a page shows."""

_ERA = ("queued", "building", "running", "evaluating")


@dataclass(frozen=True)
class Row:
    """A run in the table Runs."""

    run: Mapping[str, Any]
    elapsed_s: float | None
    scores: Sequence[tuple[str, str, float | None]]
    """Scheme, the figure's title, its value."""
    verdict: str | None
    """Why none of its predictions is shown, where a rule of write-back says so."""


def training_page(connection: Connection, project: Project, now: datetime, before: str | None) -> dict[str, Any]:
    """The context of the training page."""
    recent = stored.page(connection, HISTORY)
    found = stored.page(connection, PAGE + 1, before) if before is not None else recent[: PAGE + 1]
    going, queue = stored.in_states(connection, GOING), stored.queue(connection)
    return {
        "shape": [stored.last_ended(connection), *([run.run_id, run.state.value] for run in (*going[:1], *queue))],
        "schemes": scheme_list(connection, project),
        "trainers": trainer_list(project),
        "backends": backend_list(connection, project, now),
        "current": run_view(going[0], project, now) if going else None,
        "queue": queue,
        "rows": [row(run, now) for run in found[:PAGE]],
        "older": found[PAGE - 1].run_id if len(found) > PAGE else None,
        "before": before,
        "histories": histories([run for run in recent if run.curve_of is None]),
    }


def backend_list(connection: Connection, project: Project, now: datetime) -> list[BackendInfo]:
    """The menu Runs on; an agent's line says when it was heard last."""
    seen = agents.last_seen(connection)
    return [
        replace(entry, label=f"{entry.name} (agent, {_last_seen(seen.get(entry.name), now)})")
        if entry.type == "agent"
        else entry
        for entry in describe(project)
    ]


def _last_seen(moment: str | None, now: datetime) -> str:
    return f"last seen {ago(moment, now)}" if moment else "never seen"


def run_page(run: Run, project: Project, now: datetime) -> dict[str, Any]:
    """The context of a run's page."""
    folder = RunFolder.of(project, run.run_id)
    files = artifacts(folder)
    return {
        **run_view(run, project, now),
        "score_cards": [score_card(name, score) for name, score in run.scores.items()],
        "report": gates.report(run.writeback, project),
        "show_again": all(was_shown(run, name) for name in can_show(run, project)),
        "artifacts": files,
        "artifacts_size": size_text(sum(file.size for file in files)),
        "backend_label": backend_label(run, project),
        "own_figures": own_figures(run.metrics),
        "has_stderr": bool(file_size(folder.stderr)),
        "copy_broke_off": folder.copy_note.is_file(),
        "has_agent_log": folder.agent_log.is_file(),
        "writeback_schemas": [name for name in run.schemas if name in project.config.model_training.writeback.schemas],
    }


def run_view(run: Run, project: Project, now: datetime) -> dict[str, Any]:
    """What both pages show of a run that may still be going."""
    log = pieces.read_tail(RunFolder.of(project, run.run_id).log, LOG_BYTES)
    return {
        "run": as_json(run),
        "steps": steps(run),
        "elapsed_s": elapsed_s(run, now),
        "finished": run.is_finished,
        "log": log.text,
    }


def backend_label(run: Run, project: Project) -> str:
    """The run's backend as the menu Runs on shows it; a backend that the project no longer has by its name and type."""
    labels = {backend.name: backend.label for backend in describe(project)}
    return labels.get(run.backend, f"{run.backend} ({run.backend_type}), no longer in the project")


def own_figures(metrics: Mapping[str, Any], above: str = "") -> list[tuple[str, str]]:
    """The trainer's own figures as (name, text) pairs, whatever nesting it gave them."""
    found: list[tuple[str, str]] = []
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            found += own_figures(value, f"{above}{name} ")
        else:
            found.append((f"{above}{name}", f"{value:.4g}" if isinstance(value, float) else str(value)))
    return found


def row(run: Run, now: datetime) -> Row:
    """The run's row in the table."""
    scores = [
        (
            name,
            figures.NAMES.get((score.get("primary") or {}).get("name", ""), "Score"),
            figures.primary_value(run.scores, name),
        )
        for name, score in run.scores.items()
    ]
    verdict = (run.writeback or {}).get("reason") if run.curve_of is None else None
    return Row(as_json(run), elapsed_s(run, now), scores, verdict)


def elapsed_s(run: Run, now: datetime) -> float | None:
    """Seconds from leaving the queue to the end, or until now; None for a run that never started."""
    if run.started_at is None:
        return None
    end = from_text(run.finished_at) if run.finished_at else now
    return max(0.0, (end - from_text(run.started_at)).total_seconds())


def steps(run: Run) -> list[tuple[str, str]]:
    """The run's way as (name, state) pairs, state one of done, active, waiting, failed."""
    if run.state is State.SUCCESS:
        return [(name, "done") for name in (*_ERA, "success")]
    reached = _ERA.index(run.state.value) if run.state.value in _ERA else _ERA.index(_last_step(run))
    marks = [(name, "done" if index < reached else "waiting") for index, name in enumerate(_ERA)]
    if run.is_finished:
        return [*((name, "done") for name in _ERA[: reached + 1]), (run.state.value, "failed")]
    marks[reached] = (_ERA[reached], "active")
    return [*marks, ("success", "waiting")]


def _last_step(run: Run) -> str:
    """How far a run came that did not succeed."""
    if run.metrics or run.model_version:
        return "evaluating"
    if run.digest:
        return "running"
    return "building" if run.started_at else "queued"


def score_card(scheme: str, score: dict[str, Any]) -> dict[str, Any]:
    """One scheme's held-out score with its yardsticks, tables and diagrams."""
    shown = figures.figures(score)
    primary = shown[0] if shown and shown[0].primary else None
    return {
        "scheme": scheme,
        "kind": score.get("kind"),
        "n": (score.get("test") or {}).get("n") or 0,
        "val_n": (score.get("val") or {}).get("n") or 0,
        "primary": primary,
        "reason": (score.get("primary") or {}).get("reason"),
        "strip": plots.strip(primary) if primary else None,
        "figures": shown,
        "baseline_name": (score.get("baseline") or {}).get("name"),
        "agreement": figures.agreement_sentence(score),
        "per_class": figures.per_class(score),
        "confusion": figures.confusion(score),
        "calibration": plots.calibration(score),
        "calibration_error": (score.get("test") or {}).get("calibration_error"),
    }


def histories(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """For each scheme that a finished run has a score of: that score over time, and against the labels.

    All by the figure that the newest of `runs`, the first, was judged by, so that they can be compared.
    """
    schemes = {name for run in runs for name in run.scores}
    made = []
    for name in sorted(schemes):
        figure = _primary_name(runs, name)
        scores = [score for run in runs if (score := _history_score(run, name, figure)) is not None]
        if scores:
            title = figures.NAMES.get(figure, "Score")
            made.append(
                {
                    "scheme": name,
                    "title": title,
                    "scores": scores,
                    "by_time": plots.by_time(scores),
                    "by_labels": plots.by_labels(scores),
                }
            )
    return made


def _primary_name(runs: Sequence[Run], scheme: str) -> str:
    names = ((run.scores.get(scheme, {}).get("primary") or {}).get("name") for run in runs)
    return next((name for name in names if name), "")


def _history_score(run: Run, scheme: str, figure: str) -> plots.Score | None:
    value, interval = figures.value_of(run.scores, scheme, figure)
    if value is None or run.finished_at is None:
        return None
    low, high = interval or (None, None)
    return plots.Score(
        run_id=run.run_id,
        trainer=run.trainer,
        ended=run.finished_at,
        labels=figures.labels_of(run, scheme),
        value=value,
        low=low,
        high=high,
        baseline=(run.scores[scheme].get("baseline") or {}).get(figure),
    )
