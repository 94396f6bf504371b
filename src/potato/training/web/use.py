"""A run's pre-labels in use: what reviewers said of them, and how annotators answered with and without them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from potato.project import Project
from potato.store import Connection
from potato.store.training import verdicts
from potato.store.training.runs import Run
from potato.store.training.suggestion_use import Use, use_of
from potato.store.training.verdicts import Reviewed
from potato.training.results.proportion import difference, wilson


@dataclass(frozen=True)
class InUse:
    """One scheme's part of a run's section In use; None where there is nothing to tell of."""

    scheme: str
    reviews: dict[str, Any] | None
    pull: dict[str, Any] | None


def section(connection: Connection, run: Run, project: Project) -> list[InUse]:
    """Each scheme of the run whose pre-labels somebody has reviewed, or answered beside."""
    reviews, pulls = in_use(connection, run, project)
    names = [name for name in run.schemas if name in reviews or name in pulls]
    return [InUse(name, reviews.get(name), pulls.get(name)) for name in names]


def in_use(connection: Connection, run: Run, project: Project) -> tuple[dict[str, Any], dict[str, Any]]:
    """By scheme: the verdicts on a run's pre-labels with their precision, and the annotators' use of them."""
    schemes = {name: project.schemes[name] for name in run.schemas if name in project.schemes}
    if not (run.writeback or {}).get("read"):
        return {}, {}
    reviews = verdicts.reviewed(connection, run.run_id)
    used = use_of(connection, run.run_id, schemes)
    return (
        {name: precision(found) for name, found in reviews.items()},
        {name: pull(use) for name, use in used.items()},
    )


def precision(found: Reviewed) -> dict[str, Any]:
    """Verdicts in the API's shape."""
    return {
        "reviewed": found.total,
        "accepted": found.accepted,
        "corrected": found.corrected,
        "rejected": found.rejected,
        "precision": found.accepted / found.total if found.total else None,
        "interval": wilson(found.accepted, found.total),
    }


def pull(use: Use) -> dict[str, Any]:
    """Annotators' use of suggestions in the API's shape."""
    apart = difference(use.accepted, use.shown, use.agreed, use.hidden)
    return {
        **_counts(use),
        "accepted_interval": wilson(use.accepted, use.shown),
        "agreed_interval": wilson(use.agreed, use.hidden),
        "shown_ms": use.median_ms(hidden=False),
        "hidden_ms": use.median_ms(hidden=True),
        "pull": apart[0] if apart else None,
        "interval": apart[1] if apart else None,
        "annotators": [
            {"annotator": name, **_counts(of), "shown_ms": of.median_ms(hidden=False)}
            for name, of in sorted(use.annotators.items())
        ],
    }


def _counts(use: Use) -> dict[str, Any]:
    return {"shown": use.shown, "accepted": use.accepted, "hidden": use.hidden, "agreed": use.agreed}
