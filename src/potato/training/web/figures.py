"""A run's scores as a page shows them: named figures with their yardsticks, tables, and sentences.

Everything here is a pure function of the run's JSON, so that a page and a test see the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from potato.store.training.runs import Run

NAMES = {
    "accuracy": "Accuracy",
    "macro_f1": "Macro F1",
    "micro_f1": "Micro F1",
    "exact_match": "Exact match",
    "kappa": "Cohen's kappa",
    "quadratic_kappa": "Quadratic kappa",
    "calibration_error": "Calibration error",
    "mae": "Mean absolute error",
    "rmse": "Root mean squared error",
    "spearman": "Spearman's rank correlation",
    "chrf": "chrF",
    "entity_f1": "Entity F1",
    "entity_precision": "Entity precision",
    "entity_recall": "Entity recall",
}

_PEOPLE = frozenset({"Cohen", "Spearman"})

LOWER_IS_BETTER = frozenset({"mae", "rmse", "calibration_error"})

ORDER = list(NAMES)


@dataclass(frozen=True)
class Figure:
    """One figure of a scheme on the held-out items, with what it is to be compared with."""

    name: str
    title: str
    value: float | None
    interval: tuple[float, float] | None
    baseline: float | None
    val: float | None
    primary: bool
    lower_is_better: bool


@dataclass(frozen=True)
class ClassRow:
    """One class of the per-class table; None where there was no held-out example to compute it from."""

    label: str
    precision: float | None
    recall: float | None
    f1: float | None
    support: int


@dataclass(frozen=True)
class Cell:
    """One cell of a confusion matrix. `heat` is 0 to 9, the share of its row."""

    human: str
    model: str
    count: int
    share: float
    heat: int
    right: bool
    title: str


@dataclass(frozen=True)
class Confusion:
    """Rows are the humans' labels, columns the model's."""

    labels: list[str]
    rows: list[tuple[str, int, list[Cell]]]


def within_sentence(name: str) -> str:
    """The figure's title as it stands in a sentence."""
    title = NAMES.get(name, "Score")
    return title if title.split("'")[0] in _PEOPLE else title[0].lower() + title[1:]


def primary_value(scores: dict[str, Any], scheme: str) -> float | None:
    """The figure of `scheme` that is shown first; None where it is undefined or the run has no scores."""
    value = (scores.get(scheme, {}).get("primary") or {}).get("value")
    return value if isinstance(value, (int, float)) else None


def labels_of(run: Run, scheme: str) -> int | None:
    """How many labels of the scheme the run trained on; None where its record does not tell. That of an earlier version
    tells only how many items it trained on, which is the same for a run of one scheme."""
    found = (run.scores.get(scheme) or {}).get("trained_on")
    if isinstance(found, int):
        return found
    return run.counts.get("train") if len(run.schemas) == 1 else None


def value_of(scores: dict[str, Any], scheme: str, name: str) -> tuple[float | None, Sequence[float] | None]:
    """The held-out figure `name` of a scheme and its interval, whichever figure the run was judged by."""
    test = (scores.get(scheme) or {}).get("test") or {}
    value = test.get(name)
    if not isinstance(value, (int, float)):
        return None, None
    return value, (test.get("intervals") or {}).get(name)


def figures(score: dict[str, Any]) -> list[Figure]:
    """Every figure of one scheme's score, the primary one first."""
    test, primary = score.get("test") or {}, (score.get("primary") or {}).get("name")
    names = [name for name in ORDER if name in test]
    names.sort(key=lambda name: name != primary)
    return [_figure(name, score, primary) for name in names]


def _figure(name: str, score: dict[str, Any], primary: str | None) -> Figure:
    test, val, baseline = (score.get(part) or {} for part in ("test", "val", "baseline"))
    interval = (test.get("intervals") or {}).get(name)
    if interval is None and name == primary:
        interval = (score.get("primary") or {}).get("interval")
    return Figure(
        name=name,
        title=NAMES[name],
        value=_number(test.get(name)),
        interval=(interval[0], interval[1]) if interval and None not in interval else None,
        baseline=_number(baseline.get(name)),
        val=_number(val.get(name)),
        primary=name == primary,
        lower_is_better=name in LOWER_IS_BETTER,
    )


def per_class(score: dict[str, Any]) -> list[ClassRow]:
    """The per-class (or, for several labels an item, per-label) table; empty where the kind has none."""
    test = score.get("test") or {}
    table = test.get("per_class") or test.get("per_label") or {}
    return [
        ClassRow(
            label,
            _number(row.get("precision")),
            _number(row.get("recall")),
            _number(row.get("f1")),
            int(row.get("support") or 0),
        )
        for label, row in table.items()
    ]


def confusion(score: dict[str, Any]) -> Confusion | None:
    """The confusion matrix of one scheme; None where the kind has none or nothing was held out."""
    table = (score.get("test") or {}).get("confusion")
    if not table or not table.get("labels"):
        return None
    labels = [str(label) for label in table["labels"]]
    rows = []
    for index, (label, counts) in enumerate(zip(labels, table["matrix"], strict=True)):
        total = sum(counts)
        cells = [_cell(label, labels[column], count, total, index == column) for column, count in enumerate(counts)]
        rows.append((label, total, cells))
    return Confusion(labels, rows)


def _cell(human: str, model: str, count: int, total: int, right: bool) -> Cell:
    share = count / total if total else 0.0
    title = f"{count} of {total} items that people called {human!r}, the model called {model!r}"
    return Cell(human, model, count, share, min(9, int(share * 10)), right, title)


def agreement_sentence(score: dict[str, Any]) -> str:
    """How far the annotators agree among themselves on the held-out items."""
    agreement = score.get("agreement") or {}
    items = agreement.get("items") or 0
    if not items or agreement.get("raw") is None:
        reason = agreement.get("reason")
        return "Annotators' agreement: undefined" + (f" ({reason})" if reason else "")
    alpha = agreement.get("alpha")
    figure = f"Krippendorff's alpha {alpha:.3f}" if alpha is not None else "alpha undefined"
    if alpha is None and agreement.get("reason"):
        figure += f": {agreement['reason']}"
    if agreement.get("level") == "spans":
        return (
            f"Of the spans that two annotators marked, {agreement['raw']:.1%} are the same (F1, exact boundaries; by "
            f"character, {figure}), on the {items} held-out {'item' if items == 1 else 'items'} that two or more of "
            "them labelled."
        )
    return (
        f"Annotators agree in {agreement['raw']:.1%} of pairs ({figure}) on the {items} held-out "
        f"{'item' if items == 1 else 'items'} that two or more of them labelled."
    )


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
