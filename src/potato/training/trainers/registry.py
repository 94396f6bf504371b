"""The trainers by name: those that come with Potato, and a third party's by the entry point `potato.trainers`."""

import importlib
import logging
import sys
from functools import lru_cache
from typing import Any, Dict, List, Tuple

from potato.training.trainers.base import Cancelled, Param, Requirement, Trainer, TrainerInfo

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
        why = ": ".join(filter(None, (type(self.reason).__name__, str(self.reason))))
        return "the trainer '%s' (%s) cannot be loaded: %s" % (self.name, self.location, why)


class BadInfo(TypeError):
    """A trainer's `info` is not what it has to be."""


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
        _check_info(name, getattr(trainer, "info", None))
    except (Cancelled, KeyboardInterrupt):
        raise
    except BaseException as error:  # somebody else's code, which may do anything, and end the program too
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


def _check_info(name: str, info: Any) -> None:
    """Raise `BadInfo` where pages and checks could not go by a trainer's metadata."""
    if not isinstance(info, TrainerInfo):
        raise BadInfo("its class has no `info` that is a TrainerInfo")
    if info.name != name:
        raise BadInfo("its `info` calls it %.80r; the entry point has to have the same name" % (info.name,))
    for field in ("summary", "licence"):
        if not isinstance(getattr(info, field), str):
            raise BadInfo("`%s` in its `info` is no text" % field)
    kinds = {"kinds": str, "modalities": str, "backends": str, "requires": Requirement, "params": Param}
    for field, kind in kinds.items():
        entries = getattr(info, field)
        if not isinstance(entries, (tuple, list)) or not all(isinstance(entry, kind) for entry in entries):
            raise BadInfo("`%s` in its `info` is no tuple of %s" % (field, "texts" if kind is str else kind.__name__))


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
