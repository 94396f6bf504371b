"""Two models on the items that were held out from both, with an interval of their difference.

The interval is the percentile bootstrap over items, each with both models' answers (Efron and Tibshirani 1993): what
makes an item hard is common to both, so the difference is known better than either score.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from potato.schemes import Answer, Kind, metric
from potato.training.results import scores_multilabel, scores_nominal, scores_numeric, scores_spans, scores_text
from potato.training.results.scores_bootstrap import Floats, figure, intervals

_Drawn = Callable[[Sequence[tuple[Answer, Answer]]], Callable[[Floats], Mapping[str, Floats]]]

_DRAWN: dict[Kind, _Drawn] = {
    Kind.NOMINAL: scores_nominal.drawn,
    Kind.MULTILABEL: scores_multilabel.drawn,
    Kind.ORDINAL: scores_numeric.drawn,
    Kind.CONTINUOUS: scores_numeric.drawn,
    Kind.SPAN: scores_spans.drawn,
    Kind.PAIRWISE: scores_nominal.drawn,
    Kind.TEXT: scores_text.drawn,
}

NOTHING_SHARED = "no item was held out from both"
ALIKE = "both models gave the same answers"
TOO_ALIKE = "every resample of the shared items gives the same difference"
ONE_ITEM = "one shared item is too few for an interval"


@dataclass(frozen=True)
class Paired:
    """The first figures of two models on `items` shared items. `difference` is the one's less the other's, with its
    95 % interval; what is undefined is None, and `reason` says why. `differing` counts the items of unlike answers."""

    items: int
    differing: int
    name: str
    better: str
    one: float | None = None
    other: float | None = None
    difference: float | None = None
    interval: list[float] | None = None
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The shape that runs keep and the API answers."""
        return asdict(self)


def paired(
    kind: Kind,
    targets: Sequence[Answer],
    one: Sequence[Answer],
    other: Sequence[Answer],
    seed: int,
    judged_by: str | None = None,
) -> Paired:
    """The comparison of what two models said (`one`, `other`) of items that people gave `targets`, in one order.

    `judged_by` names the figure that is compared; the kind's first where it is left out.
    """
    primary = metric(kind, judged_by)
    better = "higher" if primary.higher_is_better else "lower"
    if not targets:
        return Paired(0, 0, primary.name, better, reason=NOTHING_SHARED)
    kinds, counts = _kinds(targets, one, other)
    figures = [_DRAWN[kind]([(row[0], row[side]) for row in kinds]) for side in (1, 2)]
    whole = counts[None].astype(np.float64)
    values = [figure(of(whole)[primary.name][0]) for of in figures]

    def difference(draws: Floats) -> dict[str, Floats]:
        ones, others = (of(draws)[primary.name] for of in figures)
        return {primary.name: ones - others}

    spread = intervals(counts, difference, seed).get(primary.name)
    differing = int(sum(count for (_, a, b), count in zip(kinds, counts, strict=True) if a != b))
    return Paired(
        items=len(targets),
        differing=differing,
        name=primary.name,
        better=better,
        one=values[0],
        other=values[1],
        difference=None if values[0] is None or values[1] is None else values[0] - values[1],
        interval=spread,
        reason=_undefined(primary.name, *values) or (None if spread else _why_not(len(targets), differing)),
    )


def _kinds(
    targets: Sequence[Answer], one: Sequence[Answer], other: Sequence[Answer]
) -> tuple[list[tuple[Answer, Answer, Answer]], Any]:
    """The distinct rows (target, one, other), and how many items are of each: alike to every figure."""
    counted = Counter(json.dumps(row) for row in zip(targets, one, other, strict=True))
    rows = [json.loads(row) for row in counted]
    return [(row[0], row[1], row[2]) for row in rows], np.asarray(list(counted.values()))


def _undefined(name: str, one: float | None, other: float | None) -> str | None:
    """Why there is no difference; None where both figures are defined."""
    figure_ = name.replace("_", " ")
    if one is None and other is None:
        return f"both models have no {figure_} on the shared items"
    if one is None or other is None:
        return f"the {'first' if one is None else 'second'} model has no {figure_} on the shared items"
    return None


def _why_not(items: int, differing: int) -> str:
    if items < 2:
        return ONE_ITEM
    return TOO_ALIKE if differing else ALIKE
