"""Intervals for figures of small held-out sets, by the percentile bootstrap (Efron and Tibshirani 1993, chapter 13)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

Statistic = Callable[[Floats], Mapping[str, Floats]]
"""Resamples x kinds of row, how often each kind was drawn → figures, one a resample, NaN where undefined."""

RESAMPLES = 1000
COVERAGE = 0.95
_CELLS_AT_ONCE = 4_000_000
"""Draws held at one time, so that memory stays flat for large held-out sets."""


def intervals(counts: npt.ArrayLike, statistic: Statistic, seed: int) -> dict[str, list[float] | None]:
    """The 95 % interval of each of `statistic`'s figures.

    `counts[j]` says how many held-out rows are of kind j; rows of one kind are alike to the statistic, so that drawing
    n rows with replacement is one multinomial draw over the kinds. A figure is None where the resamples cannot tell
    its spread: undefined in most of them, or the same in all (every row right, say). With fewer than two rows there
    is no figure.
    """
    given = np.asarray(counts, dtype=np.int64)
    total = int(given.sum())
    if total < 2:
        return {}
    random = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // len(given))
    drawn: dict[str, list[Floats]] = {}
    for start in range(0, RESAMPLES, at_once):
        draws = random.multinomial(total, given / total, size=min(at_once, RESAMPLES - start)).astype(np.float64)
        for name, values in statistic(draws).items():
            drawn.setdefault(name, []).append(values)
    return {name: _percentiles(np.concatenate(parts)) for name, parts in drawn.items()}


def _percentiles(values: Floats) -> list[float] | None:
    known = values[np.isfinite(values)]
    if len(known) < RESAMPLES / 2 or np.ptp(known) < 1e-12:
        return None
    tail = 100 * (1 - COVERAGE) / 2
    return [float(bound) for bound in np.percentile(known, [tail, 100 - tail])]


def share_at_an_end(right: int, total: int) -> list[float] | None:
    """The exact 95 % interval (Clopper and Pearson 1934) of a share that is 0 or 1, where no resample ever differs."""
    if total == 0 or right not in (0, total):
        return None
    bound = float(((1 - COVERAGE) / 2) ** (1 / total))
    return [bound, 1.0] if right == total else [0.0, 1.0 - bound]


def ratio(above: Any, below: Any) -> Floats:
    """`above / below`, NaN where `below` is 0."""
    over, under = np.broadcast_arrays(np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64))
    return np.asarray(np.divide(over, under, out=np.full(over.shape, np.nan), where=under != 0))


def figure(value: Any) -> float | None:
    """A number as a run's scores carry it: None for what is undefined."""
    return float(value) if np.isfinite(value) else None


def no_interval(n: int) -> str:
    """Why a bootstrap could not give an interval."""
    return (
        "one held-out item is too few for an interval"
        if n < 2
        else "every resample of the held-out items scores the same"
    )
