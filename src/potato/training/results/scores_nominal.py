"""Figures of one-label predictions: accuracy, F1, kappa, calibration, from the confusion matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from potato.training.results.calibration import calibration
from potato.training.results.scores_bootstrap import Floats, figure, intervals, no_interval, ratio, share_at_an_end
from potato.training.results.scores_row import Scored, Scoring


def figures(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """Every figure of one split. `rows` is not empty."""
    names = _names(task, rows)
    matrix = confusion(names, [(row.target, row.payload) for row in rows])
    overall = _overall(matrix[None])
    values = {name: figure(value[0]) for name, value in overall.items()}
    right = int(np.trace(matrix))
    spread = intervals(matrix.ravel(), lambda draws: _overall(draws.reshape(-1, *matrix.shape)), task.seed)
    spread["accuracy"] = spread.get("accuracy") or share_at_an_end(right, len(rows))
    calibrated = calibration([row.confidence for row in rows], [row.target == row.payload for row in rows])
    return {
        "n": len(rows),
        **values,
        "calibration_error": calibrated.error,
        "calibration_bins": [bin_.as_json() for bin_ in calibrated.bins],
        "intervals": {name: spread.get(name) for name in values},
        "per_class": _per_class(names, matrix),
        "confusion": {"labels": names, "matrix": matrix.astype(int).tolist()},
        "reasons": _reasons(values, calibrated.error, spread, len(rows)),
    }


def drawn(pairs: Sequence[tuple[Any, Any]]) -> Callable[[Floats], dict[str, Floats]]:
    """The figures as functions of how often each of these pairs (human, model) was drawn, one figure a resample."""
    places = {name: place for place, name in enumerate({name for pair in pairs for name in pair})}
    human, model = (np.eye(len(places))[[places[pair[side]] for pair in pairs]] for side in (0, 1))
    return lambda draws: _of_totals(draws @ (human * model), draws @ human, draws @ model)


def baseline(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """What always answering with the most frequent training label would reach on `rows`."""
    counts = Counter(task.train_targets)
    majority = max(counts, key=lambda label: (counts[label], str(label)))
    pairs = [(row.target, majority) for row in rows]
    names = sorted({name for pair in pairs for name in pair})
    overall = _overall(confusion(names, pairs)[None])
    return {
        "name": f"majority class '{majority}'",
        "accuracy": figure(overall["accuracy"][0]),
        "macro_f1": figure(overall["macro_f1"][0]),
    }


def confusion(names: Sequence[str], pairs: Sequence[tuple[Any, Any]]) -> Floats:
    """How often each human label (row) met each model label (column)."""
    places = {name: place for place, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)))
    for (human, model), count in Counter(pairs).items():
        matrix[places[human], places[model]] = count
    return matrix


def _names(task: Scoring, rows: Sequence[Scored]) -> list[str]:
    """The labels that training or these rows use, in the project's order; strangers behind."""
    used = {row.target for row in rows} | {row.payload for row in rows} | set(task.train_targets)
    return [name for name in task.labels if name in used] + sorted(used - set(task.labels))


def _overall(matrices: Floats) -> dict[str, Floats]:
    """The figures of confusion matrices (resamples x labels x labels)."""
    return _of_totals(np.einsum("rii->ri", matrices), matrices.sum(axis=2), matrices.sum(axis=1))


def _of_totals(hits: Floats, human: Floats, model: Floats) -> dict[str, Floats]:
    """Accuracy, macro F1 and Cohen's kappa from how often each label was right, and given by either (resamples x
    labels). Macro F1 is over the labels that humans gave, like every mean over classes here."""
    total = human.sum(axis=1)
    observed = hits.sum(axis=1) / total
    chance = (human * model).sum(axis=1) / total**2
    return {
        "accuracy": observed,
        "macro_f1": _macro_f1(hits, human, model),
        "kappa": ratio(observed - chance, np.where(np.isclose(chance, 1.0), 0.0, 1.0 - chance)),
    }


def _macro_f1(hits: Floats, human: Floats, model: Floats) -> Floats:
    f1 = ratio(2 * hits, human + model)  # 0 where only the model gave the label: it adds nothing below
    return ratio(np.nansum(f1, axis=1), (human > 0).sum(axis=1))


def _per_class(names: Sequence[str], matrix: Floats) -> dict[str, dict[str, Any]]:
    """Precision, recall, F1 and support by label. A label without a held-out item has none of the three, and one
    that the model never gave has no precision: None, which is not 0."""
    hits, human, model = np.diag(matrix), matrix.sum(axis=1), matrix.sum(axis=0)
    held = human > 0
    columns = zip(
        np.where(held, ratio(hits, model), np.nan),
        ratio(hits, human),
        np.where(held, ratio(2 * hits, human + model), np.nan),
        human,
        strict=True,
    )
    return {
        name: {"precision": figure(one), "recall": figure(two), "f1": figure(three), "support": int(support)}
        for name, (one, two, three, support) in zip(names, columns, strict=True)
    }


def _reasons(
    values: dict[str, float | None], error: float | None, spread: dict[str, list[float] | None], n: int
) -> dict[str, str]:
    reasons = {}
    if values["kappa"] is None:
        reasons["kappa"] = "humans and model gave one and the same label throughout"
    if error is None:
        reasons["calibration_error"] = "the model gave no confidence"
    if spread.get("macro_f1") is None:
        reasons["interval"] = no_interval(n)
    return reasons
