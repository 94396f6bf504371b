"""What every way of resolving several annotators' labels takes and gives."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Vote = tuple[Hashable, Hashable, Hashable]
"""Item, annotator, label."""

TIE = 1e-9
"""Two labels whose probabilities differ by less are equally likely."""

_H = TypeVar("_H", bound=Hashable)


@dataclass(frozen=True)
class Consensus:
    """One label for each item: what its annotators' labels come to.

    `posterior[i, k]` is the probability that item `items[i]` is `classes[k]`; `iterations` is how often the estimate
    was bettered, 0 for a count of votes.
    """

    items: list[Hashable]
    classes: list[Hashable]
    posterior: Floats
    iterations: int

    @cached_property
    def labels(self) -> dict[Hashable, Hashable | None]:
        """Item → its most likely label, None where two are equally likely."""
        if not self.items:
            return {}
        best = self.posterior.argmax(axis=1)
        ahead = self.posterior.max(axis=1)[:, None] - self.posterior
        tied = (ahead < TIE).sum(axis=1) > 1
        pairs = zip(self.items, best.tolist(), tied.tolist(), strict=True)
        return {item: None if tie else self.classes[place] for item, place, tie in pairs}

    @cached_property
    def probabilities(self) -> dict[Hashable, dict[Hashable, float]]:
        """Item → label → its probability."""
        rows = zip(self.items, self.posterior.tolist(), strict=True)
        return {item: dict(zip(self.classes, row, strict=True)) for item, row in rows}

    @property
    def ties(self) -> int:
        """How many items have no one most likely label."""
        return sum(label is None for label in self.labels.values())


@dataclass(frozen=True)
class Votes:
    """Votes as numbers, in an order that depends on their content alone, so that sums come out the same to the bit."""

    items: list[Hashable]
    annotators: list[Hashable]
    classes: list[Hashable]
    item: Ints
    annotator: Ints
    label: Ints

    @classmethod
    def of(cls, votes: Iterable[Vote]) -> Votes:
        """Number the items, annotators and labels of `votes`."""
        columns = list(zip(*votes, strict=True)) or [(), (), ()]
        (items, item), (annotators, annotator), (classes, label) = (_numbered(column) for column in columns)
        order = np.lexsort((label, annotator, item))
        return cls(items, annotators, classes, item[order], annotator[order], label[order])

    def shares(self) -> Floats:
        """Items x classes: the share of an item's votes that each label has."""
        size = (len(self.items), len(self.classes))
        cell = self.item * size[1] + self.label
        count = np.bincount(cell, minlength=size[0] * size[1]).reshape(size).astype(np.float64)
        return np.asarray(count / count.sum(axis=1, keepdims=True))


def _numbered(column: tuple[_H, ...]) -> tuple[list[Hashable], Ints]:
    distinct: list[Hashable] = sorted(set(column), key=_by_content)
    places = {value: place for place, value in enumerate(distinct)}
    return distinct, np.fromiter(map(places.__getitem__, column), dtype=np.int64, count=len(column))


def _by_content(value: Hashable) -> tuple[str, str]:
    return type(value).__name__, repr(value)
