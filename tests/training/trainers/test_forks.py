"""Labels' likelihoods from the forks of their tokens."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from potato.training.trainers.hf.forks import Tree

END = 0


def test_labels_that_differ_at_once_have_one_fork() -> None:
    tree = Tree([[5, END], [6, 7, END], [8, 7, 9, END]])
    assert [(fork.prefix, fork.choices) for fork in tree.forks] == [((), (5, 6, 8))]
    assert tree.probabilities([[math.log(0.5), math.log(0.3), math.log(0.2)]]) == pytest.approx([0.5, 0.3, 0.2])


def test_a_label_that_begins_another_is_told_apart_by_its_end() -> None:
    tree = Tree([[5, END], [5, 6, END], [7, END]])
    assert [(fork.prefix, fork.choices) for fork in tree.forks] == [((), (5, 7)), ((5,), (END, 6))]
    logs = [[math.log(0.6), math.log(0.4)], [math.log(0.25), math.log(0.75)]]
    assert tree.probabilities(logs) == pytest.approx([0.15, 0.45, 0.4])


@given(st.lists(st.lists(st.integers(1, 4), max_size=4), min_size=2, max_size=12, unique_by=tuple), st.randoms())
def test_probabilities_add_up_to_one(labels: list[list[int]], chance: object) -> None:
    tree = Tree([[*label, END] for label in labels])
    logs = []
    for fork in tree.forks:
        shares = [chance.random() + 0.01 for _ in fork.choices]  # type: ignore[attr-defined]
        logs.append([math.log(share / sum(shares)) for share in shares])
    assert sum(tree.probabilities(logs)) == pytest.approx(1)
