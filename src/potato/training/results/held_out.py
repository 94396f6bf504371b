"""A run's held-out items, as its bundle has them, scored with what the model said of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any, Protocol

from potato.errors import PotatoError
from potato.project import Project
from potato.schemes import Answer, Scheme
from potato.training.contract.bundle import Bundle, BundleError, BundleItem
from potato.training.contract.predictions import Prediction
from potato.training.results.scores import Scored, score
from potato.training.results.take_in import PredictionsRefused

HELD_OUT = ("val", "test")


class Said(Protocol):
    """What a model said of one item."""

    @property
    def payload(self) -> Answer:
        """Its answer."""

    @property
    def confidence(self) -> float | None:
        """How sure it was."""

    @property
    def probabilities(self) -> dict[str, float] | None:
        """By label."""


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


def compare(
    project: Project, bundle: Bundle, name: str, new: Mapping[str, Said], old: Mapping[str, Said]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first figures of two models on the `test` items of which both said something: the new one's, the old one's.

    Each as in a run's `primary`; an empty set of shared items leaves both without a value. What one of them said, and
    the scheme does not take any more, is as if it had not been said.
    """
    scheme = project.schemes[name]
    shared = {item for item in new.keys() & old.keys() if scheme.as_now(old[item].payload) is not None}
    return _primary(project, bundle, name, new, shared), _primary(project, bundle, name, old, shared)


def _primary(project: Project, bundle: Bundle, name: str, said: Mapping[str, Said], shared: Set[str]) -> dict[str, Any]:
    scheme = project.schemes[name]
    items = [item for item in bundle.items("test") if name in item.targets and item.id in shared]
    rows = [_row(item, scheme, said[item.id]) for item in items]
    judged_by = project.config.model_training.metrics.get(name)
    primary: dict[str, Any] = score(scheme.kind, scheme.label_names(), test=rows, judged_by=judged_by)["primary"]
    return {**primary, "items": len(rows)}


def _score(project: Project, bundle: Bundle, name: str, said: Mapping[str, Prediction]) -> dict[str, Any]:
    scheme = project.schemes[name]
    trained = list(_targets(bundle, name))
    scored = score(
        scheme.kind,
        scheme.label_names(),
        test=_rows(bundle, "test", scheme, said),
        val=_rows(bundle, "val", scheme, said),
        train_targets=trained,
        seed=project.config.model_training.split_seed,
        judged_by=project.config.model_training.metrics.get(name),
    )
    return {**scored, "trained_on": len(trained)}


def _rows(bundle: Bundle, split: str, scheme: Scheme, said: Mapping[str, Prediction]) -> Iterator[Scored]:
    for item in bundle.items(split):
        if scheme.name not in item.targets:
            continue
        if item.id not in said:
            raise PredictionsRefused(f"they lack the {split} item {item.id!r:.100} for '{scheme.name}'")
        yield _row(item, scheme, said[item.id])


def _row(item: BundleItem, scheme: Scheme, said: Said) -> Scored:
    """What is scored; the scheme takes what was said."""
    return Scored(
        target=item.targets[scheme.name],
        payload=scheme.as_now(said.payload),
        confidence=said.confidence,
        probabilities=said.probabilities,
        votes=[(answer, count) for answer, count in item.votes.get(scheme.name, [])],
        text=item.text,
    )


def _targets(bundle: Bundle, name: str) -> Iterator[Answer]:
    return (item.targets[name] for item in bundle.items("train") if name in item.targets)
