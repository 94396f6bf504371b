"""Majority vote: the label that most annotators of an item gave."""

from __future__ import annotations

from collections.abc import Iterable

from potato.agreement.consensus import Consensus, Vote, Votes


def consensus(votes: Iterable[Vote]) -> Consensus:
    """The label with the most votes for each item; a label's probability is its share of the item's votes.

    An item whose first two labels have the same number of votes is a tie: its label is None.
    """
    counted = Votes.of(votes)
    return Consensus(counted.items, counted.classes, counted.shares(), iterations=0)
