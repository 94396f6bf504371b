"""The trainers by name: those that come with Potato, and a third party's by the entry point `potato.trainers`."""

import importlib
import logging
import sys
from functools import lru_cache
from typing import Any, Dict, List, Tuple

from potato.training.trainers.base import Trainer, TrainerInfo

_BUILT_IN = {
    "sklearn-text": "potato.training.trainers.sklearn_text:SklearnText",
    "text-embedding": "potato.training.trainers.text_embedding:TextEmbedding",
    "hf-text-classification": "potato.training.trainers.hf_text_classification:HfTextClassification",
    "hf-token-classification": "potato.training.trainers.hf_token_classification:HfTokenClassification",
    "hf-pairwise-preference": "potato.training.trainers.hf_pairwise_preference:HfPairwisePreference",
    "hf-image-classification": "potato.training.trainers.hf_image_classification:HfImageClassification",
    "llm-finetune": "potato.training.trainers.llm_finetune:LlmFinetune",
    "decision-calibrate": "potato.training.trainers.decision_calibrate:DecisionCalibrate",
}


class UnknownTrainer(KeyError):
    """No trainer of that name is installed."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return "there is no trainer '%s'; there are %s" % (self.name, ", ".join(names()))


class BrokenTrainer(UnknownTrainer):
    """A trainer that an installed package registers and that cannot be loaded."""

    def __init__(self, name: str, location: str, reason: BaseException) -> None:
        super().__init__(name)
        self.location = location
        self.reason = reason

    def __str__(self) -> str:
        kind = type(self.reason).__name__
        return "the trainer '%s' (%s) cannot be loaded: %s: %s" % (self.name, self.location, kind, self.reason)


def names() -> List[str]:
    """The names of all trainers, Potato's own first."""
    return list(_locations())


def get(name: str) -> Trainer:
    """The trainer of that name. Raises `UnknownTrainer`, and `BrokenTrainer`, which is one, for one that is broken."""
    locations = _locations()
    if name not in locations:
        raise UnknownTrainer(name)
    module, _, attribute = locations[name].partition(":")
    try:
        trainer: Trainer = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # somebody else's code, which may do anything
        raise BrokenTrainer(name, locations[name], error) from error
    return trainer


def infos() -> List[TrainerInfo]:
    """The metadata of every trainer that loads; imports no training library. One that is broken is left out, and the
    log says why."""
    found = []
    for name in names():
        try:
            found.append(get(name).info)
        except BrokenTrainer as error:
            logging.getLogger("potato.training").warning("%s", error)
    return found


def _locations() -> Dict[str, str]:
    return _found_on(tuple(sys.path))


@lru_cache(maxsize=4)
def _found_on(_path: Tuple[str, ...]) -> Dict[str, str]:
    """Name -> where its class is. Reading the entry points of all packages costs 10 ms and more, so a process does it
    once; what is installed afterwards is found by the next process, or where the path has changed."""
    from importlib import metadata

    found = dict(_BUILT_IN)
    groups: Any = metadata.entry_points()  # Python 3.8 and 3.9 give a dict of lists
    points = groups.select(group="potato.trainers") if hasattr(groups, "select") else groups.get("potato.trainers", [])
    for point in points:
        found.setdefault(point.name, point.value)
    return found
