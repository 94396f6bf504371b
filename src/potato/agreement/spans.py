"""How far annotators agree on labelled stretches of a text.

Two figures tell it. `alpha` is Krippendorff's alpha over the characters of the texts: each character is a unit, and an
annotator's answer for it is the set of labels that they put on it, which is another's or not. It counts chance, and
gives credit where stretches overlap in part; a long span counts more than a short one. `raw` is the F1 of two
annotators' spans with exact boundaries and label, over all pairs of annotators of an item: of all spans that the two
marked, the share that both did. As most of a text belongs to no span, F1 comes close to a kappa that counts chance
(Hripcsak and Rothschild, "Agreement, the F-Measure, and Reliability in Information Retrieval", JAMIA 12, 2005).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from potato.agreement.krippendorff import Agreement, Level

Spans = Sequence[Mapping[str, Any]]
"""One annotator's answer."""

Unit = tuple[int, Sequence[Spans]]
"""How many characters an item's text has, and its annotators' answers."""

_Labels = frozenset[str]


def agreement(units: Iterable[Unit], annotators: int | None = None) -> Agreement:
    """Alpha over characters and F1 over spans, of `units`, one for each item; `annotators` is only handed through.

    Items with fewer than two answers say nothing. Streams: one item is held at a time.
    """
    tally = _Tally()
    for length, answers in units:
        if len(answers) > 1:
            tally.add(length, answers)
    return tally.agreement(annotators)


class _Tally:
    """The sums that both figures are made of."""

    def __init__(self) -> None:
        self.items = 0
        self.both = 0
        self.marked = 0
        self.disagreement = 0.0
        self.frequency: Counter[_Labels] = Counter()

    def add(self, length: int, answers: Sequence[Spans]) -> None:
        """Count one item."""
        self.items += 1
        sets = [{(span["start"], span["end"], span["label"]) for span in answer} for answer in answers]
        self.marked += (len(sets) - 1) * sum(map(len, sets))
        counts = Counter(span for spans in sets for span in spans)
        self.both += sum(count * (count - 1) for count in counts.values())
        for characters, said in _stretches(length, answers):
            self.disagreement += characters * _differing(said) / (len(answers) - 1)
            for labels, times in said.items():
                self.frequency[labels] += characters * times

    def agreement(self, annotators: int | None) -> Agreement:
        """What the sums come to."""
        if not self.items:
            return Agreement(None, None, 0, Level.SPANS, annotators, "no item has two or more answers")
        raw = self.both / self.marked if self.marked else None
        if len(self.frequency) < 2:
            reason = "no annotator marked anything" if raw is None else "every character has the same labels throughout"
            return Agreement(None, raw, self.items, Level.SPANS, annotators, reason)
        total = sum(self.frequency.values())
        chance = sum(count * (total - count) for count in self.frequency.values()) / (total - 1)
        return Agreement(1 - self.disagreement / chance, raw, self.items, Level.SPANS, annotators)


def _stretches(length: int, answers: Sequence[Spans]) -> Iterator[tuple[int, Counter[_Labels]]]:
    """The text cut wherever a span begins or ends: how long each piece is, and what the annotators say of it."""
    cuts = {0, length, *(place for answer in answers for span in answer for place in (span["start"], span["end"]))}
    for start, end in pairwise(sorted(cuts)):
        yield end - start, Counter(_labels_at(answer, start) for answer in answers)


def _labels_at(answer: Spans, place: int) -> _Labels:
    return frozenset(span["label"] for span in answer if span["start"] <= place < span["end"])


def _differing(said: Counter[_Labels]) -> int:
    """How many ordered pairs of annotators say something else."""
    size = sum(said.values())
    return sum(times * (size - times) for times in said.values())
