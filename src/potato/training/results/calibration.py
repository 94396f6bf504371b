"""Whether a model is as often right as it says.

Source: Guo et al., "On Calibration of Modern Neural Networks" (ICML 2017), expected calibration error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

BINS = 10


@dataclass(frozen=True)
class Bin:
    """The predictions with a confidence above `low`, up to `high`: how many, how sure on average, how often right."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float

    def as_json(self) -> dict[str, Any]:
        """The shape of a run's scores."""
        return {
            "from": self.low,
            "to": self.high,
            "n": self.n,
            "confidence": self.confidence,
            "accuracy": self.accuracy,
        }


@dataclass(frozen=True)
class Calibration:
    """`error` is the mean distance of confidence and accuracy, each bin by its share of the predictions; None without
    a confidence. `bins` are those that hold anything."""

    error: float | None
    bins: list[Bin]


def calibration(confidence: Sequence[float | None], correct: Sequence[bool]) -> Calibration:
    """The calibration of predictions over ten bins of equal width; those without a confidence are passed over."""
    known = [(sure, right) for sure, right in zip(confidence, correct, strict=True) if sure is not None]
    if not known:
        return Calibration(None, [])
    sure, right = np.asarray(known, dtype=np.float64).T
    place = np.clip(np.ceil(sure * BINS).astype(int) - 1, 0, BINS - 1)
    count = np.bincount(place, minlength=BINS)
    held = np.flatnonzero(count)
    said = np.bincount(place, sure, minlength=BINS)[held] / count[held]
    true = np.bincount(place, right, minlength=BINS)[held] / count[held]
    bins = [
        Bin(int(number) / BINS, (int(number) + 1) / BINS, int(count[number]), float(one), float(other))
        for number, one, other in zip(held, said, true, strict=True)
    ]
    return Calibration(float((count[held] * np.abs(said - true)).sum() / len(known)), bins)
