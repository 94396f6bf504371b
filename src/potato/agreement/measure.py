"""The agreement of a scheme's annotators, by the scheme's kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from potato.agreement import spans
from potato.agreement.krippendorff import Agreement, Level, Unit, alpha
from potato.errors import PotatoError
from potato.schemes import Answer, Kind

LEVELS = {
    Kind.NOMINAL: Level.NOMINAL,
    Kind.PAIRWISE: Level.NOMINAL,
    Kind.TEXT: Level.NOMINAL,
    Kind.MULTILABEL: Level.SETS,
    Kind.ORDINAL: Level.ORDINAL,
    Kind.CONTINUOUS: Level.INTERVAL,
}
"""Kind of scheme → what it means for two of its answers to differ."""


class UnmeasuredKind(PotatoError):
    """Agreement on answers of this kind is not defined."""

    code = "unmeasured_kind"
    status = 400

    def __init__(self, kind: Kind) -> None:
        super().__init__(f"agreement on {kind.value} answers is not measured")


def level_of(kind: Kind) -> Level:
    """The level of measurement of a kind's answers. Raises `UnmeasuredKind`."""
    if kind not in LEVELS:
        raise UnmeasuredKind(kind)
    return LEVELS[kind]


def of_labels(kind: Kind, labels: Iterable[tuple[Hashable, Hashable, Answer]]) -> Agreement:
    """The agreement of (item, annotator, answer), ordered by item; an annotator who is alone on every item counts not.

    Streams: one item's answers are held at a time.
    """
    level = level_of(kind)
    annotators: set[Hashable] = set()
    units = list(_units(labels, level, annotators))
    return alpha(units, level, len(annotators))


def of_votes(kind: Kind, votes: Iterable[Sequence[Sequence[Any]]]) -> Agreement:
    """The agreement of a bundle's votes: for each item, `[answer, count]` pairs without annotators' names."""
    level = level_of(kind)
    return alpha((_counted(pairs, level) for pairs in votes), level)


def of_spans(labels: Iterable[tuple[Hashable, Hashable, Answer, int]]) -> Agreement:
    """The agreement of (item, annotator, spans, characters of the item's text), ordered by item. Streams as well.

    Answers that are no spans, which the scheme had when it was of another type, are passed over.
    """
    annotators: set[Hashable] = set()
    units = spans.agreement(_span_units((row for row in labels if _are_spans(row[2])), annotators))
    return replace(units, annotators=len(annotators))


def _span_units(
    labels: Iterable[tuple[Hashable, Hashable, Answer, int]], annotators: set[Hashable]
) -> Iterator[spans.Unit]:
    for _, rows in groupby(labels, key=lambda row: row[0]):
        given = list(rows)
        if len(given) > 1:
            annotators.update(annotator for _, annotator, _, _ in given)
            yield given[0][3], [answer for _, _, answer, _ in given]


def _are_spans(answer: Answer) -> bool:
    return isinstance(answer, list) and all(isinstance(span, dict) for span in answer)


def _units(
    labels: Iterable[tuple[Hashable, Hashable, Answer]], level: Level, annotators: set[Hashable]
) -> Iterator[Unit]:
    at: Hashable = None
    given: dict[Hashable, Any] = {}
    for item, annotator, answer in labels:
        if item != at:
            yield from _pairable(given, level, annotators)
            at, given = item, {}
        given[annotator] = answer
    yield from _pairable(given, level, annotators)


def _pairable(given: dict[Hashable, Any], level: Level, annotators: set[Hashable]) -> Iterator[Unit]:
    if len(given) > 1:
        annotators.update(given)
        yield Counter(map(_hashable(level), given.values()))


def _counted(pairs: Sequence[Sequence[Any]], level: Level) -> Unit:
    key = _hashable(level)
    counted: Counter[Hashable] = Counter()
    for answer, count in pairs:
        counted[key(answer)] += count
    return counted


def _hashable(level: Level) -> Any:
    return frozenset if level is Level.SETS else _same


def _same(answer: Any) -> Any:
    return answer
