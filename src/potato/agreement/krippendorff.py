"""Krippendorff's alpha: how far annotators agree beyond what chance would give.

Sources: Krippendorff, *Content Analysis* (2004), chapter 11, for the coefficient with any number of annotators and
missing answers; Passonneau, "Measuring Agreement on Set-valued Items (MASI)" (LREC 2006), for the distance of sets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

Unit = Mapping[Any, int] | Collection[Any]
"""The answers to one item: answer → how many gave it, or simply the answers."""

_ROWS_AT_ONCE = 512
"""How many rows of the distances between sets are held at one time."""


class Level(str, Enum):
    """What it means for two answers to differ."""

    NOMINAL = "nominal"
    """They are equal or not."""
    ORDINAL = "ordinal"
    """By how many answers lie between them; the distance of points of a scale that need not be even."""
    INTERVAL = "interval"
    """By the square of their difference."""
    SETS = "sets"
    """By MASI: sets that share most labels differ little, disjoint sets wholly, two empty sets not at all."""
    SPANS = "spans"
    """Each character by itself, by whether its labels are the same; see `potato.agreement.spans`."""


@dataclass(frozen=True)
class Agreement:
    """How far the annotators of a set of items agree.

    `alpha` is 1 for perfect agreement, 0 for what chance would give, below 0 for less; `raw` is the share of pairs of
    answers to the same item that are equal, for spans their F1. Both are None where they are undefined, and `reason`
    says why. `items` counts the items with two or more answers, the only ones that say anything; `annotators` is None
    where the answers came without names.
    """

    alpha: float | None
    raw: float | None
    items: int
    level: Level
    annotators: int | None = None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The shape that the API and a run's scores carry."""
        body: dict[str, Any] = {"alpha": self.alpha, "raw": self.raw, "items": self.items, "level": self.level.value}
        if self.annotators is not None:
            body["annotators"] = self.annotators
        return {**body, "reason": self.reason}


def alpha(units: Iterable[Unit], level: Level, annotators: int | None = None) -> Agreement:
    """Krippendorff's alpha over `units`, one for each item, on the given level of measurement (any but `SPANS`).

    Answers are text for `NOMINAL`, finite numbers for `ORDINAL` and `INTERVAL`, collections of labels for `SETS`. Items
    with fewer than two answers are passed over. `annotators` is only handed through. Streams: what is kept is a few
    numbers for each item, and for sets the distinct sets.
    """
    counted = _Counted.of(units, level)
    if counted.items == 0:
        return Agreement(None, None, 0, level, annotators, "no item has two or more answers")
    raw = _raw(counted)
    if len(counted.values) == 1:
        reason = "every answer is the same, so nothing tells agreement from chance"
        return Agreement(None, raw, counted.items, level, annotators, reason)
    observed, expected = _DISAGREEMENT[level](counted)
    return Agreement(1.0 - observed / expected, raw, counted.items, level, annotators)


@dataclass(frozen=True)
class _Counted:
    """The pairable answers: entry j says that `count[j]` annotators gave `values[value[j]]` to item `unit[j]`."""

    values: list[Any]
    unit: Ints
    value: Ints
    count: Floats
    size: Floats
    """Answers an item, one entry an item."""

    @property
    def items(self) -> int:
        return len(self.size)

    @property
    def total(self) -> float:
        """All pairable answers."""
        return float(self.size.sum())

    @property
    def frequency(self) -> Floats:
        """How often each value was given."""
        return np.asarray(np.bincount(self.value, self.count, minlength=len(self.values)), dtype=np.float64)

    @property
    def weight(self) -> Floats:
        """What a pair within its item counts, for each entry: 1 / (answers - 1)."""
        return np.asarray(1.0 / (self.size[self.unit] - 1.0))

    @classmethod
    def of(cls, units: Iterable[Unit], level: Level) -> _Counted:
        places: dict[Hashable, int] = {}
        unit: list[int] = []
        value: list[int] = []
        count: list[int] = []
        sizes: list[int] = []
        for answers in units:
            entries = _entries(answers, level)
            size = sum(entries.values())
            if size < 2:
                continue
            for answer, times in entries.items():
                unit.append(len(sizes))
                value.append(places.setdefault(answer, len(places)))
                count.append(times)
            sizes.append(size)
        return cls(
            list(places),
            np.asarray(unit, dtype=np.int64),
            np.asarray(value, dtype=np.int64),
            np.asarray(count, dtype=np.float64),
            np.asarray(sizes, dtype=np.float64),
        )


def _entries(answers: Unit, level: Level) -> Mapping[Hashable, int]:
    """Answer → count, with sets as frozensets; equal answers are one entry."""
    if not isinstance(answers, Mapping):
        return Counter(map(frozenset, answers)) if level is Level.SETS else Counter(answers)
    if level is not Level.SETS:
        return {answer: times for answer, times in answers.items() if times}
    merged: Counter[Hashable] = Counter()
    for answer, times in answers.items():
        merged[frozenset(answer)] += times
    return +merged


def _raw(counted: _Counted) -> float:
    same = float((counted.count * (counted.count - 1.0)).sum())
    return same / float((counted.size * (counted.size - 1.0)).sum())


def _nominal(counted: _Counted) -> tuple[float, float]:
    count, total = counted.count, counted.total
    observed = float((count * (counted.size[counted.unit] - count) * counted.weight).sum()) / total
    frequency = counted.frequency
    expected = float((frequency * (total - frequency)).sum()) / (total * (total - 1.0))
    return observed, expected


def _interval(counted: _Counted) -> tuple[float, float]:
    return _squares(counted, np.asarray(counted.values, dtype=np.float64))


def _ordinal(counted: _Counted) -> tuple[float, float]:
    """The ordinal distance of two values is the squared difference of their mid-ranks among all answers."""
    order = np.argsort(np.asarray(counted.values, dtype=np.float64))
    frequency = counted.frequency[order]
    ranks = np.empty(len(order))
    ranks[order] = np.cumsum(frequency) - frequency / 2.0
    return _squares(counted, ranks)


def _squares(counted: _Counted, position: Floats) -> tuple[float, float]:
    """Observed and expected squared differences, from moments: no pair is ever formed."""
    given = position[counted.value] - np.average(position, weights=counted.frequency)
    means = np.bincount(counted.unit, counted.count * given) / counted.size
    within = np.bincount(counted.unit, counted.count * (given - means[counted.unit]) ** 2)
    total = counted.total
    observed = float((2.0 * counted.size * within / (counted.size - 1.0)).sum()) / total
    expected = 2.0 * float((counted.count * given**2).sum()) / (total - 1.0)
    return observed, expected


def _sets(counted: _Counted) -> tuple[float, float]:
    """Observed and expected MASI distance, over the distinct sets."""
    members = _membership(counted.values)
    first, second, weight = _coincidences(counted)
    frequency, total = counted.frequency, counted.total
    observed = expected = 0.0
    for start in range(0, len(members), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        distance = masi(members[rows], members)
        expected += float(frequency[rows] @ distance @ frequency)
        here = (first >= rows.start) & (first < rows.stop)
        observed += float((distance[first[here] - start, second[here]] * weight[here]).sum())
    return observed / total, expected / (total * (total - 1.0))


def masi(first: Floats, second: Floats) -> Floats:
    """MASI distances between the rows of two membership matrices (sets x labels, 0 or 1): 1 - Jaccard x monotonicity.

    Monotonicity is 1 for equal sets, 2/3 where one holds the other, 1/3 where they overlap, 0 where they are disjoint.
    """
    both = first @ second.T
    size, other = first.sum(axis=1)[:, None], second.sum(axis=1)[None, :]
    union = size + other - both
    jaccard = np.divide(both, union, out=np.ones_like(both), where=union > 0)
    monotone = np.where(both == np.minimum(size, other), 2.0 / 3.0, 1.0 / 3.0)
    monotone = np.where(both == 0, 0.0, monotone)
    monotone = np.where(both == union, 1.0, monotone)
    return np.asarray(1.0 - jaccard * monotone)


def _membership(sets: list[Any]) -> Floats:
    places: dict[Hashable, int] = {}
    pairs = [(row, places.setdefault(label, len(places))) for row, labels in enumerate(sets) for label in labels]
    members = np.zeros((len(sets), len(places)))
    if pairs:
        rows, columns = np.asarray(pairs).T
        members[rows, columns] = 1.0
    return members


def _coincidences(counted: _Counted) -> tuple[Ints, Ints, Floats]:
    """Which different values meet within an item, both ways, and with what weight."""
    bounds = np.searchsorted(counted.unit, np.arange(counted.items + 1)).tolist()
    meetings = [
        (one, other)
        for start, end in pairwise(bounds)
        for one in range(start, end)
        for other in range(start, end)
        if one != other
    ]
    one, other = np.asarray(meetings, dtype=np.int64).reshape(-1, 2).T
    weight = counted.count[one] * counted.count[other] * counted.weight[one]
    return counted.value[one], counted.value[other], weight


_DISAGREEMENT = {Level.NOMINAL: _nominal, Level.ORDINAL: _ordinal, Level.INTERVAL: _interval, Level.SETS: _sets}
