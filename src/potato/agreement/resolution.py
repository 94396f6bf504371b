"""Several annotators' answers to one question made into one answer an item, by the scheme's kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from potato.agreement import dawid_skene, majority, span_consensus
from potato.agreement.chrf import alike
from potato.agreement.consensus import Consensus, Vote
from potato.schemes import Answer, Kind

Aggregation = Literal["consensus", "majority"]

_METHOD: dict[Aggregation, Callable[[Iterable[Vote]], Consensus]] = {
    "consensus": dawid_skene.consensus,
    "majority": majority.consensus,
}


@dataclass(frozen=True)
class Resolved:
    """`answers` maps an item to its one answer; items whose annotators are exactly divided are left out: `ties`."""

    answers: dict[Hashable, Answer]
    ties: int


def resolve(kind: Kind, votes: Iterable[tuple[Hashable, Hashable, Answer]], aggregation: Aggregation) -> Resolved:
    """One answer for each item of `votes` (item, annotator, answer).

    Nominal, pairwise and ordinal answers by `aggregation` over whole answers; multilabel by `aggregation` over each
    label's yes or no, an item being a tie when any label of it is; spans likewise over each stretch that anyone marked;
    continuous by the mean; of texts, the one that is most like the others.
    """
    if kind is Kind.MULTILABEL:
        return _multilabel(list(votes), aggregation)
    if kind is Kind.SPAN:
        return Resolved(*span_consensus.resolve(votes, _METHOD[aggregation]))
    if kind is Kind.CONTINUOUS:
        return _mean(votes)
    if kind is Kind.TEXT:
        return _most_alike(votes)
    return _decided(_METHOD[aggregation](votes).labels)


def _decided(labels: dict[Hashable, Hashable | None]) -> Resolved:
    answers: dict[Hashable, Any] = {item: label for item, label in labels.items() if label is not None}
    return Resolved(answers, len(labels) - len(answers))


def _multilabel(votes: Sequence[tuple[Hashable, Hashable, Answer]], aggregation: Aggregation) -> Resolved:
    items = dict.fromkeys(item for item, _, _ in votes)
    chosen: dict[Hashable, list[str]] = {item: [] for item in items}
    tied: set[Hashable] = set()
    for label in dict.fromkeys(name for _, _, answer in votes for name in answer):
        said = ((item, annotator, label in answer) for item, annotator, answer in votes)
        for item, verdict in _METHOD[aggregation](said).labels.items():
            if verdict is None:
                tied.add(item)
            elif verdict:
                chosen[item].append(label)
    return Resolved({item: labels for item, labels in chosen.items() if item not in tied}, len(tied))


def _mean(votes: Iterable[tuple[Hashable, Hashable, Answer]]) -> Resolved:
    given: dict[Hashable, list[float]] = {}
    for item, _, number in votes:
        given.setdefault(item, []).append(float(number))
    return Resolved({item: float(np.mean(numbers)) for item, numbers in given.items()}, 0)


def _most_alike(votes: Iterable[tuple[Hashable, Hashable, Answer]]) -> Resolved:
    """The text with the highest mean chrF against the item's others; of equals, the most frequent, then the longest."""
    given: dict[Hashable, list[str]] = {}
    for item, _, text in votes:
        given.setdefault(item, []).append(text)
    return Resolved({item: _central(texts) for item, texts in given.items()}, 0)


def _central(texts: Sequence[str]) -> str:
    counts = Counter(texts)
    if len(counts) == 1:
        return texts[0]

    def likeness(text: str) -> float:
        return round(sum(count * alike(other, text) for other, count in counts.items()), 9)

    return max(counts, key=lambda text: (likeness(text), counts[text], len(text), text))
