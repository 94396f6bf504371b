"""Figures of any-labels predictions: micro and macro F1, exact match, and each label by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from potato.training.results.scores_bootstrap import Floats, figure, intervals, no_interval, ratio, share_at_an_end
from potato.training.results.scores_labels import per_label
from potato.training.results.scores_row import Scored, Scoring

Pair = tuple[frozenset[str], frozenset[str]]
"""The human's labels and the model's."""


def figures(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """Every figure of one split. `rows` is not empty."""
    counted = Counter((frozenset(row.target), frozenset(row.payload)) for row in rows)
    names = _names(task, counted)
    table = _table(names, list(counted))
    counts = np.asarray(list(counted.values()))
    overall = _overall(counts[None].astype(np.float64), table)
    values = {name: figure(value[0]) for name, value in overall.items()}
    spread = intervals(counts, lambda draws: _overall(draws, table), task.seed)
    right = sum(count for (human, model), count in counted.items() if human == model)
    spread["exact_match"] = spread.get("exact_match") or share_at_an_end(right, len(rows))
    return {
        "n": len(rows),
        **values,
        "intervals": {name: spread.get(name) for name in values},
        "per_label": per_label(names, *np.split((counts @ table)[1:], 3)),
        "reasons": _reasons(values, spread, len(rows)),
    }


def drawn(pairs: Sequence[tuple[Any, Any]]) -> Callable[[Floats], dict[str, Floats]]:
    """The figures as functions of how often each of these pairs (human, model) was drawn, one figure a resample."""
    sets = [(frozenset(human), frozenset(model)) for human, model in pairs]
    table = _table(sorted({label for pair in sets for side in pair for label in side}), sets)
    return lambda draws: _overall(draws, table)


def baseline(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """What always answering with the labels that more than half of the training items have would reach on `rows`."""
    targets = task.train_targets
    counts = Counter(label for target in targets for label in target)
    common = frozenset(label for label, count in counts.items() if count * 2 > len(targets))
    counted = Counter((frozenset(row.target), common) for row in rows)
    table = _table(_names(task, counted), list(counted))
    overall = _overall(np.asarray([list(counted.values())], dtype=np.float64), table)
    named = ", ".join(f"'{label}'" for label in task.labels if label in common) or "none"
    return {
        "name": f"the labels that most training items have: {named}",
        **{name: figure(value[0]) for name, value in overall.items()},
    }


def _names(task: Scoring, pairs: Iterable[Pair]) -> list[str]:
    used = {label for pair in pairs for side in pair for label in side}
    used |= {label for target in task.train_targets for label in target}
    return [name for name in task.labels if name in used] + sorted(used - set(task.labels))


def _table(names: Sequence[str], pairs: Sequence[Pair]) -> Floats:
    """Kinds of row x (exact, then hits, false alarms and misses of each label)."""
    rows = [
        [
            human == model,
            *(name in human and name in model for name in names),
            *(name in model and name not in human for name in names),
            *(name in human and name not in model for name in names),
        ]
        for human, model in pairs
    ]
    return np.asarray(rows, dtype=np.float64)


def _overall(draws: Floats, table: Floats) -> dict[str, Floats]:
    """Micro F1, macro F1 over the labels that humans gave, and exact match, one for each of `draws`."""
    sums = draws @ table
    hits, alarms, misses = np.split(sums[:, 1:], 3, axis=1)
    given = hits + misses > 0
    f1 = ratio(2 * hits, 2 * hits + alarms + misses)  # 0 where only the model gave the label: it adds nothing below
    return {
        "micro_f1": ratio(2 * hits.sum(axis=1), (2 * hits + alarms + misses).sum(axis=1)),
        "macro_f1": ratio(np.nansum(f1, axis=1), given.sum(axis=1)),
        "exact_match": sums[:, 0] / draws.sum(axis=1),
    }


def _reasons(values: dict[str, float | None], spread: dict[str, list[float] | None], n: int) -> dict[str, str]:
    reasons = {}
    if values["micro_f1"] is None:
        reasons["micro_f1"] = "neither humans nor model gave any label"
    if values["macro_f1"] is None:
        reasons["macro_f1"] = "no held-out item has any label"
    if spread.get("macro_f1") is None:
        reasons["interval"] = no_interval(n)
    return reasons
