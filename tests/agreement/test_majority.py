"""Majority vote."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from potato.agreement.majority import consensus

VOTES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9), st.sampled_from("abc")), unique_by=lambda v: v[:2])


@given(VOTES)
def test_the_label_is_the_one_with_most_votes_or_none_on_a_tie(votes: list[tuple[int, int, str]]) -> None:
    found = consensus(votes)
    assert set(found.labels) == {item for item, _, _ in votes}
    for item, label in found.labels.items():
        (first, most), *rest = Counter(said for on, _, said in votes if on == item).most_common(2)
        assert label == (None if rest and rest[0][1] == most else first)


def test_probabilities_are_the_shares_of_the_votes() -> None:
    found = consensus([(1, "ann", "a"), (1, "bob", "a"), (1, "cay", "b"), (2, "ann", "b")])
    assert found.probabilities == {1: {"a": 2 / 3, "b": 1 / 3}, 2: {"a": 0.0, "b": 1.0}}
    assert found.iterations == 0
