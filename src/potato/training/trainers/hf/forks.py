"""The likelihoods of labels that a language model writes token by token.

The labels' tokens make a tree. At each fork the model's probabilities of the tokens that go on are compared with one
another alone; a label's probability is the product along its way. So they add up to one, a long label is at no
disadvantage, whatever else the model might have written counts for nothing, and one look at the model answers where
labels differ in their first token.
"""

import math
from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple


@dataclass(frozen=True)
class Fork:
    """After the tokens `prefix` of an answer, one of `choices` follows."""

    prefix: Tuple[int, ...]
    choices: Tuple[int, ...]


class Tree:
    """The forks of some answers, none of which is the beginning of another (each ends with the end token)."""

    def __init__(self, answers: Sequence[Sequence[int]]) -> None:
        following: Dict[Tuple[int, ...], List[int]] = {}
        for answer in answers:
            for place, token in enumerate(answer):
                choices = following.setdefault(tuple(answer[:place]), [])
                if token not in choices:
                    choices.append(token)
        self.forks = [Fork(prefix, tuple(choices)) for prefix, choices in following.items() if len(choices) > 1]
        number = {fork.prefix: position for position, fork in enumerate(self.forks)}
        self._ways = [self._way(answer, number) for answer in answers]

    def probabilities(self, logs: Sequence[Sequence[float]]) -> List[float]:
        """Each answer's probability; `logs` holds for each fork the log probabilities of its choices."""
        return [math.exp(sum(logs[fork][choice] for fork, choice in way)) for way in self._ways]

    def _way(self, answer: Sequence[int], number: Dict[Tuple[int, ...], int]) -> List[Tuple[int, int]]:
        """The forks that an answer passes, and which way it goes there."""
        passed = [
            (number[tuple(answer[:place])], token)
            for place, token in enumerate(answer)
            if tuple(answer[:place]) in number
        ]
        return [(fork, self.forks[fork].choices.index(token)) for fork, token in passed]
