"""Dawid-Skene consensus: labels and annotators' error rates, estimated from each other.

Source: Dawid and Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm", Applied
Statistics 28 (1979). It differs in one thing. There, a handful of votes makes error rates: an annotator who has met a
class once, and was alone with it, has it always wrong. Here every annotator starts with the credit of `pseudo_votes`
right answers for each class (a Dirichlet prior on the diagonal; the estimate is the maximum a posteriori), and only
answers that others contradict use it up. With `pseudo_votes=0` it is the original.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from potato.agreement.consensus import Consensus, Floats, Ints, Vote, Votes

MAX_ITERATIONS = 100
TOLERANCE = 1e-6
_FLOOR = 1e-300
_DIGITS = 12
"""Probabilities are rounded to this, so that the last bits of a sum never decide what is exactly even."""


def consensus(votes: Iterable[Vote], *, pseudo_votes: float = 1.0) -> Consensus:
    """The most likely label of each item, with annotators weighed by how reliable they turn out to be.

    Starts from the shares of the votes and repeats until no probability changes by more than a millionth, at most 100
    times; the same votes in any order give the same result. An item whose most likely labels are exactly even is a
    tie: its label is None. Labels are text or numbers. A million votes take a few seconds; memory grows with
    (items + annotators x labels used) x labels.
    """
    counted = Votes.of(votes)
    posterior = counted.shares()
    if not counted.items:
        return Consensus([], [], posterior, iterations=0)
    model = _Model.of(counted, pseudo_votes)
    iterations, change = 0, 1.0
    while change >= TOLERANCE and iterations < MAX_ITERATIONS:
        better = model.step(posterior)
        change = float(np.abs(better - posterior).max())
        posterior, iterations = better, iterations + 1
    return Consensus(counted.items, counted.classes, posterior, iterations)


@dataclass(frozen=True)
class _Model:
    """The votes, with what annotators say kept only for the labels that each has used.

    A *habit* is an annotator with a label that this annotator has given; `habit[v]` is vote v's.
    """

    votes: Votes
    habit: Ints
    annotator_of: Ints
    label_of: Ints
    pseudo_votes: float

    @classmethod
    def of(cls, votes: Votes, pseudo_votes: float) -> _Model:
        classes = len(votes.classes)
        used, habit = np.unique(votes.annotator * classes + votes.label, return_inverse=True)
        return cls(votes, habit.astype(np.int64), used // classes, used % classes, pseudo_votes)

    def step(self, posterior: Floats) -> Floats:
        """The probabilities that the error rates of `posterior` give (one M step and one E step)."""
        spread = self._spread(posterior)
        rates = self._rates(spread)
        prior = np.maximum(posterior.mean(axis=0), _FLOOR)
        logs = np.log(np.maximum(rates, _FLOOR))
        likelihood = np.stack([self._by_item(logs[:, true]) for true in range(len(prior))], axis=1) + np.log(prior)
        likelihood -= likelihood.max(axis=1, keepdims=True)
        weights = np.exp(likelihood)
        return np.asarray(np.round(weights / weights.sum(axis=1, keepdims=True), _DIGITS))

    def _spread(self, posterior: Floats) -> Floats:
        """Habits x true classes: how many of the votes fall on items of each class."""
        columns = [
            np.bincount(self.habit, posterior[self.votes.item, true], minlength=len(self.annotator_of))
            for true in range(posterior.shape[1])
        ]
        return np.stack(columns, axis=1)

    def _rates(self, spread: Floats) -> Floats:
        """Habits x true classes: the probability that the annotator gives the label to an item of the class."""
        seen = _grouped(spread, self.annotator_of, len(self.votes.annotators))[self.annotator_of]
        credit = self.pseudo_votes * (self.label_of[:, None] == np.arange(spread.shape[1]))
        total = seen + self.pseudo_votes
        return np.asarray(np.divide(spread + credit, total, out=np.zeros_like(spread), where=total > 0))

    def _by_item(self, of_habit: Floats) -> Floats:
        return np.asarray(np.bincount(self.votes.item, of_habit[self.habit], minlength=len(self.votes.items)))


def _grouped(rows: Floats, group: Ints, groups: int) -> Floats:
    columns = [np.bincount(group, rows[:, column], minlength=groups) for column in range(rows.shape[1])]
    return np.stack(columns, axis=1).astype(np.float64)
