"""Several annotators' spans of an item made into one list.

Each stretch with a label that anyone marked is a candidate, and every annotator of the item has said yes or no to it.
The candidates of a label are resolved as any question is (Dawid-Skene, or majority), and those that are rather yes than
no stay. Where candidates of one label overlap and no annotator marked both, they are one thing with the boundaries in
dispute: the likeliest stays, of equals the longest. An item with a candidate that is exactly even is a tie.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from potato.agreement.consensus import Consensus, Vote

Candidate = tuple[Hashable, int, int, str]
"""Item, start, end, label."""


@dataclass(frozen=True)
class _Found:
    """A candidate, who marked it, and how likely it is."""

    span: Mapping[str, Any]
    markers: frozenset[Hashable]
    share: float

    def disputes(self, other: _Found) -> bool:
        """Whether this is `other` with other boundaries."""
        one, two = self.span, other.span
        overlap = one["start"] < two["end"] and two["start"] < one["end"] and one["label"] == two["label"]
        return overlap and self.markers.isdisjoint(other.markers)


def resolve(
    votes: Iterable[tuple[Hashable, Hashable, Sequence[Mapping[str, Any]]]],
    method: Callable[[Iterable[Vote]], Consensus],
) -> tuple[dict[Hashable, list[dict[str, Any]]], int]:
    """Item → its spans in the order of the text, without the items that are ties; and how many those are."""
    annotators: dict[Hashable, set[Hashable]] = {}
    markers: dict[Candidate, set[Hashable]] = {}
    texts: dict[Candidate, Mapping[str, Any]] = {}
    for item, annotator, answer in votes:
        annotators.setdefault(item, set()).add(annotator)
        for span in answer:
            candidate = (item, span["start"], span["end"], span["label"])
            markers.setdefault(candidate, set()).add(annotator)
            texts[candidate] = span
    shares = _shares(markers, annotators, method)
    tied = {candidate[0] for candidate, share in shares.items() if share is None}
    found: dict[Hashable, list[_Found]] = {item: [] for item in annotators if item not in tied}
    for candidate, share in shares.items():
        if share is not None and share > 0.5 and candidate[0] in found:
            found[candidate[0]].append(_Found(texts[candidate], frozenset(markers[candidate]), share))
    return {item: _undisputed(of_item) for item, of_item in found.items()}, len(tied)


def _shares(
    markers: Mapping[Candidate, set[Hashable]],
    annotators: Mapping[Hashable, set[Hashable]],
    method: Callable[[Iterable[Vote]], Consensus],
) -> dict[Candidate, float | None]:
    """How likely each candidate is; None for one that is exactly even."""
    shares: dict[Candidate, float | None] = {}
    for label in sorted({candidate[3] for candidate in markers}):
        of_label = [candidate for candidate in markers if candidate[3] == label]
        said = (
            (candidate, annotator, annotator in markers[candidate])
            for candidate in of_label
            for annotator in annotators[candidate[0]]
        )
        resolved = method(said)
        verdicts, likely = resolved.labels, resolved.probabilities
        for candidate in of_label:
            shares[candidate] = None if verdicts[candidate] is None else likely[candidate].get(True, 0.0)
    return shares


def _undisputed(found: Sequence[_Found]) -> list[dict[str, Any]]:
    kept: list[_Found] = []
    for one in sorted(found, key=lambda each: (-each.share, each.span["start"] - each.span["end"], each.span["start"])):
        if not any(one.disputes(other) for other in kept):
            kept.append(one)
    spans = [dict(one.span) for one in kept]
    return sorted(spans, key=lambda span: (span["start"], span["end"], span["label"]))
