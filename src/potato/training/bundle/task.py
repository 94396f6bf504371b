"""The task `training.build`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from potato.project import Project
from potato.store import Database, predictions
from potato.store.pieces import in_pieces
from potato.training.bundle.build import build as build_bundle
from potato.training.trainers import registry


def build(project: Project, database: Database, args: dict[str, Any]) -> dict[str, Any]:
    """Build the bundle of a run: args `run_id`, `trainer`, `schemas`, `folder` (of the bundle).

    Answers `digest`, `counts`, `warnings`. What it trains on is noted for good before the answer, so that no later
    pre-label can show up there. Raises `NotEnoughLabels`.
    """
    info = registry.get(args["trainer"]).info
    built = build_bundle(database, project, info, args["schemas"], Path(args["folder"]))
    for scheme, groups in built.trained.items():
        for piece in in_pieces(sorted(groups)):
            with database.write() as connection:
                predictions.record_trained(connection, args["run_id"], scheme, piece)
    return {"digest": built.digest, "counts": built.counts, "warnings": built.warnings}
