"""Figures of predicted numbers: MAE, RMSE, Spearman's rank correlation, and quadratic kappa for points of a scale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from potato.training.results.scores_bootstrap import Floats, figure, intervals, no_interval, ratio
from potato.training.results.scores_nominal import confusion
from potato.training.results.scores_row import Scored, Scoring


def ordinal(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """Every figure of one split of an ordinal scheme, whose answers are the points 1, 2, … . `rows` is not empty."""
    human, model = _numbers(rows)
    body = _figures(task, human, model, {"quadratic_kappa": _quadratic_kappa})
    if body["quadratic_kappa"] is None:
        body["reasons"]["quadratic_kappa"] = "humans and model gave one and the same point throughout"
    pairs = [(f"{row.target:g}", f"{row.payload:g}") for row in rows]
    used = {name for pair in pairs for name in pair}
    names = [*task.labels, *sorted(used - set(task.labels), key=float)]
    matrix = confusion(names, pairs).astype(int).tolist()
    return {**body, "confusion": {"labels": names, "matrix": matrix}}


def continuous(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """Every figure of one split of a continuous scheme. `rows` is not empty."""
    return _figures(task, *_numbers(rows), {})


def drawn(pairs: Sequence[tuple[Any, Any]]) -> Callable[[Floats], dict[str, Floats]]:
    """The figures as functions of how often each of these pairs (human, model) was drawn, one figure a resample."""
    human, model = np.asarray(pairs, dtype=np.float64).T
    return lambda draws: {
        **_errors(draws, human, model),
        "quadratic_kappa": _quadratic_kappa(draws, human, model),
    }


def baseline(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """What always answering with the mean of the training labels would reach on `rows`."""
    mean = float(np.mean(np.asarray(task.train_targets, dtype=np.float64)))
    error = _numbers(rows)[0] - mean
    return {
        "name": f"mean of the training labels, {mean:.3g}",
        "mae": float(np.abs(error).mean()),
        "rmse": float(np.sqrt((error**2).mean())),
    }


def _numbers(rows: Sequence[Scored]) -> tuple[Floats, Floats]:
    human = np.asarray([row.target for row in rows], dtype=np.float64)
    return human, np.asarray([row.payload for row in rows], dtype=np.float64)


def _figures(task: Scoring, human: Floats, model: Floats, more: dict[str, Any]) -> dict[str, Any]:
    kinds, counts = np.unique(np.stack([human, model]), axis=1, return_counts=True)

    def statistic(draws: Floats) -> dict[str, Floats]:
        return _errors(draws, *kinds) | {name: of(draws, *kinds) for name, of in more.items()}

    values = {name: figure(value[0]) for name, value in statistic(counts[None].astype(np.float64)).items()}
    spread = intervals(counts, statistic, task.seed)
    rank = spearman(human, model)
    reasons = {} if rank is not None else {"spearman": "one side gave the same number throughout"}
    if spread.get("mae") is None:
        reasons["interval"] = no_interval(len(human))
    return {
        "n": len(human),
        **values,
        "spearman": rank,
        "intervals": {name: spread.get(name) for name in values},
        "reasons": reasons,
    }


def _errors(draws: Floats, human: Floats, model: Floats) -> dict[str, Floats]:
    """Mean absolute error and root mean squared error of each of `draws`."""
    total, error = draws.sum(axis=1), model - human
    return {"mae": draws @ np.abs(error) / total, "rmse": np.sqrt(draws @ error**2 / total)}


def _quadratic_kappa(draws: Floats, human: Floats, model: Floats) -> Floats:
    """Cohen's weighted kappa (1968) with squared distances, from moments: 1 - E(x - y)² / E(x - y')², y' being drawn
    independently of x."""
    total = draws.sum(axis=1)
    observed = draws @ (human - model) ** 2 / total
    means = draws @ human / total, draws @ model / total
    spread = draws @ human**2 / total - means[0] ** 2 + draws @ model**2 / total - means[1] ** 2
    chance = spread + (means[0] - means[1]) ** 2
    return np.asarray(1.0 - ratio(observed, np.where(chance < 1e-12, 0.0, chance)))


def spearman(human: Floats, model: Floats) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None where one side is constant."""
    one, other = _ranks(human), _ranks(model)
    one, other = one - one.mean(), other - other.mean()
    norm = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum() / norm) if norm > 0 else None


def _ranks(values: Floats) -> Floats:
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2.0)[place])
