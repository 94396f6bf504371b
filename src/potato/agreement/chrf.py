"""chrF: how alike two texts are, by the runs of characters that they share.

Source: Popović, "chrF: character n-gram F-score for automatic MT evaluation" (WMT 2015), with runs of 1 to 6
characters, white space left out, and recall counted twice as much as precision (chrF2, the usual setting).
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ORDERS = 6
BETA = 2.0


def statistics(human: str, model: str) -> list[int]:
    """The runs that both have, those of the model, and those of the human: six lengths each, `3 * ORDERS` numbers."""
    ours, theirs = _runs(human), _runs(model)
    shared = [sum((one & other).values()) for one, other in zip(ours, theirs, strict=True)]
    return [*shared, *(sum(runs.values()) for runs in theirs), *(sum(runs.values()) for runs in ours)]


def score(sums: Floats) -> Floats:
    """chrF, 0 to 1, of summed `statistics`, one row each: the F of the mean precision and the mean recall.

    Lengths that either side has no run of are left out; where none is left, it is 0.
    """
    shared, model, human = np.split(sums, 3, axis=1)
    there = (model > 0) & (human > 0)
    orders = np.maximum(there.sum(axis=1), 1)
    precision = (np.divide(shared, model, out=np.zeros_like(shared), where=there)).sum(axis=1) / orders
    recall = (np.divide(shared, human, out=np.zeros_like(shared), where=there)).sum(axis=1) / orders
    below = BETA**2 * precision + recall
    return np.asarray(np.divide((1 + BETA**2) * precision * recall, below, out=np.zeros_like(below), where=below > 0))


def alike(human: str, model: str) -> float:
    """chrF of two texts."""
    return float(score(np.asarray([statistics(human, model)], dtype=np.float64))[0])


def _runs(text: str) -> list[Counter[str]]:
    bare = "".join(text.split())
    return [
        Counter(bare[place : place + order] for place in range(len(bare) - order + 1)) for order in range(1, ORDERS + 1)
    ]
