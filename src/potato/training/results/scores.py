"""The held-out score of a run's predictions on one scheme, with the yardsticks beside it.

The server computes it, from the predictions and the human labels, wherever the trainer ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from potato.agreement import measure, spans
from potato.agreement.krippendorff import Agreement
from potato.schemes import Answer, Kind, Metric, metric
from potato.training.results import scores_multilabel, scores_nominal, scores_numeric, scores_spans, scores_text
from potato.training.results.scores_row import Scored, Scoring

__all__ = ["Scored", "score"]

NOTHING_HELD_OUT = "no held-out item"

_Figures = Callable[[Scoring, Sequence[Scored]], dict[str, Any]]


@dataclass(frozen=True)
class _Way:
    """How answers of one kind are scored."""

    figures: _Figures
    baseline: _Figures


_WAYS = {
    Kind.NOMINAL: _Way(scores_nominal.figures, scores_nominal.baseline),
    Kind.MULTILABEL: _Way(scores_multilabel.figures, scores_multilabel.baseline),
    Kind.ORDINAL: _Way(scores_numeric.ordinal, scores_numeric.baseline),
    Kind.CONTINUOUS: _Way(scores_numeric.continuous, scores_numeric.baseline),
    Kind.PAIRWISE: _Way(scores_nominal.figures, scores_nominal.baseline),
    Kind.TEXT: _Way(scores_text.figures, scores_text.baseline),
    Kind.SPAN: _Way(scores_spans.figures, scores_spans.baseline),
}


def score(
    kind: Kind,
    labels: Sequence[str],
    *,
    test: Iterable[Scored],
    val: Iterable[Scored] = (),
    train_targets: Iterable[Answer] = (),
    seed: int = 0,
    judged_by: str | None = None,
) -> dict[str, Any]:
    """The scores of one scheme as a run keeps them: `kind`, `primary`, `test`, `val`, `baseline`, `agreement`.

    `labels` is the project's label order; `train_targets` are the answers that training saw, from which the baseline
    is made; `judged_by` names the figure that is `primary`, by default the kind's first. Figures are on the scale 0 to
    1 (errors in points of the scale); what is undefined is None, never 0 or 1, with a sentence in `reasons`. Intervals
    are 95 %, the same for the same `seed`. An empty split is `{"n": 0}`.
    """
    way, task = _WAYS[kind], Scoring(tuple(labels), list(train_targets), seed)
    held_out, choosing = list(test), list(val)
    figures = _split(way, task, held_out)
    return {
        "kind": kind.value,
        "primary": _primary(metric(kind, judged_by), figures),
        "test": figures,
        "val": _split(way, task, choosing),
        "baseline": way.baseline(task, held_out) if held_out and task.train_targets else None,
        "agreement": _agreement(kind, held_out).as_json(),
    }


def _agreement(kind: Kind, rows: Sequence[Scored]) -> Agreement:
    if kind is not Kind.SPAN:
        return measure.of_votes(kind, (row.votes for row in rows))
    given = ((len(row.text), [answer for answer, count in row.votes for _ in range(count)]) for row in rows)
    return spans.agreement(given)


def _split(way: _Way, task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    return way.figures(task, rows) if rows else {"n": 0}


def _primary(primary: Metric, test: dict[str, Any]) -> dict[str, Any]:
    value = test.get(primary.name)
    reasons = test.get("reasons", {})
    reason = None if value is not None else reasons.get(primary.name, NOTHING_HELD_OUT)
    return {
        "name": primary.name,
        "split": "test",
        "value": value,
        "interval": test.get("intervals", {}).get(primary.name),
        "better": "higher" if primary.higher_is_better else "lower",
        "reason": reason,
    }
