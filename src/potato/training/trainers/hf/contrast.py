"""Contrastive fine-tuning of an encoder on pairs of training items (Tunstall et al. 2022, "SetFit"): texts with one
label are drawn together, texts with different ones apart. Few labels make many pairs."""

import random
from typing import Any, Callable, Dict, List, Sequence, Tuple

from potato.training.contract.bundle import BundleItem, SchemaInfo
from potato.training.trainers.base import Task

Pair = Tuple[int, int, float]
"""The positions of two training items, and how alike their targets are, 0 to 1."""


def pairs(task: Task) -> List[Pair]:
    """For each training item so many pairs as the param `pairs` says, by turns with one that is like it and with one
    that is not, drawn by the seed. An item that has none of the one sort gets the other alone."""
    chance = random.Random(task.seed)  # noqa: S311 - a sample, not a secret
    alike = _alike(task.schema)
    targets = [_target(item, task.schema) for item in task.train]
    places = _places(targets)
    found: List[Pair] = []
    for position, target in enumerate(targets):
        near = [other for other in places[target] if other != position]
        for number in range(task.params["pairs"]):
            other = chance.choice(near) if near and number % 2 == 0 else chance.randrange(len(targets))
            if other != position:
                found.append((position, other, alike(target, targets[other])))
    return found


def losses(left: Any, right: Any, wanted: Any) -> Any:
    """Each pair's loss: how far the cosine of its vectors (of length one) is from what is wanted, squared."""
    return ((left * right).sum(-1) - wanted) ** 2


def _places(targets: Sequence[Any]) -> Dict[Any, List[int]]:
    places: Dict[Any, List[int]] = {}
    for position, target in enumerate(targets):
        places.setdefault(target, []).append(position)
    return places


def _target(item: BundleItem, schema: SchemaInfo) -> Any:
    target = item.targets[schema.name]
    return frozenset(map(str, target)) if schema.kind == "multilabel" else str(target)


def _alike(schema: SchemaInfo) -> Callable[[Any, Any], float]:
    """nominal: the same or not. multilabel: the share of labels that both have of those that either has. ordinal: how
    near on the scale."""
    if schema.kind == "multilabel":
        return lambda one, other: len(one & other) / len(one | other) if one | other else 1.0
    if schema.kind == "ordinal":
        place = {label: number for number, label in enumerate(schema.classes)}
        widest = max(1, len(schema.classes) - 1)
        return lambda one, other: 1.0 - abs(place[one] - place[other]) / widest
    return lambda one, other: float(one == other)
