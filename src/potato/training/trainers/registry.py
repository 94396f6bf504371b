"""The trainers by name: those that come with Potato, and a third party's by the entry point `potato.trainers`."""

import importlib
from typing import Any, Dict, List

from potato.training.trainers.base import Trainer, TrainerInfo

_BUILT_IN = {
    "sklearn-text": "potato.training.trainers.sklearn_text:SklearnText",
    "hf-text-classification": "potato.training.trainers.hf_text_classification:HfTextClassification",
}


class UnknownTrainer(KeyError):
    """No trainer of that name is installed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return "there is no trainer '%s'; there are %s" % (self.name, ", ".join(names()))


def names() -> List[str]:
    """The names of all trainers, Potato's own first."""
    return list(_locations())


def get(name: str) -> Trainer:
    """The trainer of that name. Raises `UnknownTrainer`."""
    locations = _locations()
    if name not in locations:
        raise UnknownTrainer(name)
    module, _, attribute = locations[name].partition(":")
    trainer: Trainer = getattr(importlib.import_module(module), attribute)()
    return trainer


def infos() -> List[TrainerInfo]:
    """The metadata of every trainer; imports no training library."""
    return [get(name).info for name in names()]


def _locations() -> Dict[str, str]:
    from importlib import metadata  # costs 10 ms, so only where it is asked for

    found = dict(_BUILT_IN)
    groups: Any = metadata.entry_points()  # Python 3.8 and 3.9 give a dict of lists
    points = groups.select(group="potato.trainers") if hasattr(groups, "select") else groups.get("potato.trainers", [])
    for point in points:
        found.setdefault(point.name, point.value)
    return found
