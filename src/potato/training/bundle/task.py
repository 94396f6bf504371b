"""The task `training.build`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.store import Database
from potato.store.databases.pieces import in_pieces
from potato.store.training import predictions
from potato.training.bundle.build import build as build_bundle
from potato.training.bundle.share import take_share
from potato.training.trainers import registry
from potato.training.trainers.base import TrainerInfo


class TrainerGone(PotatoError):
    """The trainer of a waiting run is not installed any more."""

    code = "unknown_trainer"
    status = 400


def build(project: Project, database: Database, args: dict[str, Any]) -> dict[str, Any]:
    """Build the bundle of a run: args `run_id`, `trainer`, `schemas`, `folder` (of the bundle); for a point of a
    learning curve also `whole` (the folder of the bundle that it is a share of) and `share`.

    Answers `digest`, `counts`, `warnings`, and `labels_upto` but for a point of a curve. What it trains on is noted for
    good before the answer, so that no later pre-label can show up there. Raises `NotEnoughLabels` and `TrainerGone`.
    """
    info = _info(args["trainer"])
    if "whole" in args:
        return take_share(project, database, info, Path(args["whole"]), Path(args["folder"]), args["share"])
    built = build_bundle(database, project, info, args["schemas"], Path(args["folder"]))
    trained = {} if info.calibrates_live else built.trained  # a calibration leaves the model as it is
    for scheme, groups in trained.items():
        for piece in in_pieces(sorted(groups)):
            with database.write() as connection:
                predictions.record_trained(connection, args["run_id"], scheme, piece)
    _recount(database, project, trained)
    upto = {} if info.calibrates_live else {"labels_upto": built.labels_upto}
    return {"digest": built.digest, "counts": built.counts, "warnings": built.warnings, **upto}


def _recount(database: Database, project: Project, trained: Iterable[str]) -> None:
    """The items that are trained on from now on lose the pre-labels of the run that is live."""
    with database.read() as connection:
        live, counted = predictions.live(connection), predictions.shown(connection)
        mine = [name for name in trained if name in live]
        more = {name: predictions.recount(connection, name, project.schemes) - counted[name] for name in mine}
    for scheme, count in more.items():
        with database.write() as connection:
            predictions.add_to_shown(connection, scheme, live[scheme], count)


def _info(name: str) -> TrainerInfo:
    try:
        return registry.get(name).info
    except registry.UnknownTrainer as error:
        raise TrainerGone(str(error)) from error
