"""The points of a learning curve: scored beside the run on the whole training split, and never shown to annotators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from potato.project import Project
from potato.store import Database
from potato.training.results.comparison import compare_scheme

SHARES = (0.25, 0.5, 0.75)
"""The shares of the training split beside the whole."""

NEVER_SHOWN = "a point of a learning curve is measured, and never shown to annotators"


def showing_nothing(project: Project) -> Project:
    """The project as if it listed no scheme for write-back."""
    training = project.config.model_training
    quiet = training.writeback.model_copy(update={"schemas": [], "max_drop": None})
    config = project.config.model_copy(update={"model_training": training.model_copy(update={"writeback": quiet})})
    return replace(project, config=config)


def beside_whole(
    project: Project, database: Database, run_id: str, whole: str, scores: dict[str, Any]
) -> dict[str, Any]:
    """The point's scores, each with `to_whole`: what the run on everything gains over it, on the same items."""
    with database.read() as connection:
        return {
            name: {**score, "to_whole": compare_scheme(connection, project, name, whole, run_id).as_json()}
            for name, score in scores.items()
        }
