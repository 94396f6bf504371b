"""A run's held-out items, as its bundle has them, scored with what the model said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.schemes import Answer
from potato.training.contract.bundle import Bundle, BundleError
from potato.training.contract.predictions import Prediction
from potato.training.results.scores import Scored, score
from potato.training.results.take_in import PredictionsRefused

HELD_OUT = ("val", "test")


class BundleLost(PotatoError):
    """The run's bundle cannot be read any more, so its predictions cannot be scored."""

    code = "bundle_unreadable"
    status = 500


def open_bundle(folder: str) -> Bundle:
    """The bundle. Raises `BundleLost`."""
    try:
        return Bundle(folder)
    except BundleError as error:
        raise BundleLost(str(error)) from error


def ids(bundle: Bundle) -> set[str]:
    """The ids of the items of val and test."""
    return {item.id for split in HELD_OUT for item in bundle.items(split)}


def scores(project: Project, bundle: Bundle, predictions: Mapping[str, Mapping[str, Prediction]]) -> dict[str, Any]:
    """Scheme → its scores. `predictions` maps scheme and item id to what the model said.

    Raises `PredictionsRefused` where it said nothing of a held-out item.
    """
    return {name: _score(project, bundle, name, said) for name, said in predictions.items()}


def _score(project: Project, bundle: Bundle, name: str, said: Mapping[str, Prediction]) -> dict[str, Any]:
    scheme = project.schemes[name]
    return score(
        scheme.kind,
        scheme.label_names(),
        test=_rows(bundle, "test", name, said),
        val=_rows(bundle, "val", name, said),
        train_targets=_targets(bundle, name),
        seed=project.config.model_training.split_seed,
    )


def _rows(bundle: Bundle, split: str, name: str, said: Mapping[str, Prediction]) -> Iterator[Scored]:
    for item in bundle.items(split):
        if name not in item.targets:
            continue
        if item.id not in said:
            raise PredictionsRefused(f"they lack the {split} item {item.id!r:.100} for '{name}'")
        prediction = said[item.id]
        yield Scored(
            target=item.targets[name],
            payload=prediction.payload,
            confidence=prediction.confidence,
            probabilities=prediction.probabilities,
            votes=[(answer, count) for answer, count in item.votes.get(name, [])],
        )


def _targets(bundle: Bundle, name: str) -> Iterator[Answer]:
    return (item.targets[name] for item in bundle.items("train") if name in item.targets)
