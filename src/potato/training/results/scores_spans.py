"""Figures of predicted spans: precision, recall and F1 over spans with exact boundaries and label, and each label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from potato.training.results.scores_bootstrap import Floats, figure, intervals, no_interval, ratio, share_at_an_end
from potato.training.results.scores_labels import per_label
from potato.training.results.scores_row import Scored, Scoring

Place = tuple[int, int, str]
"""Start, end and label."""

Pair = tuple[frozenset[Place], frozenset[Place]]
"""The human's spans and the model's."""


def figures(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """Every figure of one split. `rows` is not empty."""
    pairs = [(_places(row.target), _places(row.payload)) for row in rows]
    names = _names(task, pairs)
    table, counts = _counted(names, pairs)
    values = {name: figure(value[0]) for name, value in _overall(counts[None].astype(np.float64), table).items()}
    spread = intervals(counts, lambda draws: _overall(draws, table), task.seed)
    right = sum(human == model for human, model in pairs)
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
    places = [(_places(human), _places(model)) for human, model in pairs]
    names = sorted({place[2] for pair in places for side in pair for place in side})
    table = np.asarray([_row(names, pair) for pair in places], dtype=np.float64)
    return lambda draws: _overall(draws, table)


def baseline(task: Scoring, rows: Sequence[Scored]) -> dict[str, Any]:
    """What looking up the texts of the training spans would reach on `rows`: each is marked wherever it stands as whole
    words, with the label that it has most often; of those that overlap the longest.

    Source: the baseline of Tjong Kim Sang and De Meulder, "Introduction to the CoNLL-2003 Shared Task" (2003), who
    leave out what has several labels; here the most frequent one stays.
    """
    known = _dictionary(task.train_targets)
    pairs = [(_places(row.target), frozenset(_looked_up(row.text, known))) for row in rows]
    table, counts = _counted(_names(task, pairs), pairs)
    overall = _overall(counts[None].astype(np.float64), table)
    return {
        "name": "marking the texts that training spans have wherever they stand",
        **{name: figure(value[0]) for name, value in overall.items()},
    }


def _places(spans: Iterable[Mapping[str, Any]]) -> frozenset[Place]:
    return frozenset((span["start"], span["end"], span["label"]) for span in spans)


def _names(task: Scoring, pairs: Iterable[Pair]) -> list[str]:
    used = {place[2] for pair in pairs for side in pair for place in side}
    used |= {span["label"] for target in task.train_targets for span in target}
    return [name for name in task.labels if name in used] + sorted(used - set(task.labels))


def _counted(names: Sequence[str], pairs: Sequence[Pair]) -> tuple[Floats, np.ndarray[Any, np.dtype[np.int64]]]:
    """The distinct rows (see `_row`) and how often each occurs."""
    kinds = Counter(tuple(_row(names, pair)) for pair in pairs)
    table = np.asarray(list(kinds), dtype=np.float64)
    return table, np.asarray(list(kinds.values()), dtype=np.int64)


def _row(names: Sequence[str], pair: Pair) -> list[int]:
    """Whether all is exactly right, then hits, false alarms and misses of each label."""
    human, model = pair
    counts = [Counter(place[2] for place in places) for places in (human & model, model - human, human - model)]
    return [int(human == model), *(count[name] for count in counts for name in names)]


def _overall(draws: Floats, table: Floats) -> dict[str, Floats]:
    """F1, precision and recall over all spans, and the share of items that are exactly right, one for each of `draws`.

    Precision is undefined where the model marked nothing, recall where humans did not; F1 only where both are.
    """
    sums = draws @ table
    hits, alarms, misses = (part.sum(axis=1) for part in np.split(sums[:, 1:], 3, axis=1))
    return {
        "entity_f1": ratio(2 * hits, 2 * hits + alarms + misses),
        "entity_precision": ratio(hits, hits + alarms),
        "entity_recall": ratio(hits, hits + misses),
        "exact_match": sums[:, 0] / draws.sum(axis=1),
    }


def _reasons(values: dict[str, float | None], spread: dict[str, list[float] | None], n: int) -> dict[str, str]:
    reasons = {}
    if values["entity_f1"] is None:
        reasons["entity_f1"] = "neither humans nor model marked anything"
    if values["entity_precision"] is None:
        reasons["entity_precision"] = "the model marked nothing"
    if values["entity_recall"] is None:
        reasons["entity_recall"] = "no held-out item has a span"
    if spread.get("entity_f1") is None:
        reasons["interval"] = no_interval(n)
    return reasons


def _dictionary(targets: Iterable[Sequence[Mapping[str, Any]]]) -> dict[str, str]:
    """The text of each training span → the label that it has most often."""
    counts: dict[str, Counter[str]] = {}
    for target in targets:
        for span in target:
            counts.setdefault(span["text"], Counter())[span["label"]] += 1
    return {text: max(labels, key=lambda label: (labels[label], label)) for text, labels in counts.items()}


def _looked_up(text: str, known: Mapping[str, str]) -> Iterator[Place]:
    """The spans that the dictionary finds, from the start of the text, the longest first at each place."""
    lengths = sorted({len(entry) for entry in known}, reverse=True)
    place = 0
    while place < len(text):
        found = next((size for size in lengths if _is_entry(text, place, place + size, known)), 0)
        if found:
            yield (place, place + found, known[text[place : place + found]])
        place += found or 1


def _is_entry(text: str, start: int, end: int, known: Mapping[str, str]) -> bool:
    return text[start:end] in known and end <= len(text) and not (_joined(text, start) or _joined(text, end))


def _joined(text: str, place: int) -> bool:
    """Whether a place is in the middle of a word."""
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()
