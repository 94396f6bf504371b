"""Figures of written answers: the share that is exactly right, and chrF over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from potato.agreement import chrf
from potato.training.results.scores_bootstrap import Floats, figure, intervals, no_interval, share_at_an_end
from potato.training.results.scores_row import Scored, Scoring


def figures(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """Every figure of one split. `rows` is not empty."""
    table = _table([(row.target, row.payload) for row in rows])
    every = np.ones(len(rows), dtype=np.int64)
    values = {name: figure(value[0]) for name, value in _overall(every[None].astype(np.float64), table).items()}
    spread = intervals(every, lambda draws: _overall(draws, table), task.seed)
    spread["exact_match"] = spread.get("exact_match") or share_at_an_end(int(table[:, 0].sum()), len(rows))
    reasons = {} if spread.get("chrf") else {"interval": no_interval(len(rows))}
    return {
        "n": len(rows),
        **values,
        "intervals": {name: spread.get(name) for name in values},
        "reasons": reasons,
    }


def drawn(pairs: Sequence[tuple[Any, Any]]) -> Callable[[Floats], dict[str, Floats]]:
    """The figures as functions of how often each of these pairs (human, model) was drawn, one figure a resample."""
    table = _table(pairs)
    return lambda draws: _overall(draws, table)


def baseline(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """What always writing the most frequent answer of the training items would reach on `rows`."""
    counts = Counter(task.train_targets)
    usual = max(counts, key=lambda answer: (counts[answer], answer))
    overall = _overall(np.ones((1, len(rows))), _table([(row.target, usual) for row in rows]))
    return {"name": "the most frequent training answer", **{name: figure(value[0]) for name, value in overall.items()}}


def _table(pairs: Sequence[tuple[str, str]]) -> Floats:
    """A row a pair: whether it is exactly right, white space at the ends aside, then chrF's statistics."""
    rows = [[int(human == model.strip()), *chrf.statistics(human, model)] for human, model in pairs]
    return np.asarray(rows, dtype=np.float64)


def _overall(draws: Floats, table: Floats) -> dict[str, Floats]:
    sums = draws @ table
    return {"chrf": chrf.score(sums[:, 1:]), "exact_match": sums[:, 0] / draws.sum(axis=1)}
