"""One answer an item, by the scheme's kind."""

from __future__ import annotations

import pytest

from potato.agreement.resolution import Aggregation, Resolved, resolve
from potato.schemes import Kind

BOTH: list[Aggregation] = ["consensus", "majority"]


@pytest.mark.parametrize("how", BOTH)
def test_ties_are_left_out_and_counted(how: Aggregation) -> None:
    votes = [("i1", "ann", "a"), ("i1", "bob", "b"), ("i2", "ann", "a"), ("i2", "bob", "a")]
    assert resolve(Kind.NOMINAL, votes[:2], how) == Resolved({}, 1)
    assert resolve(Kind.NOMINAL, votes[2:], how) == Resolved({"i2": "a"}, 0)


@pytest.mark.parametrize("how", BOTH)
def test_each_label_of_a_multiselect_is_decided_by_itself(how: Aggregation) -> None:
    votes = [("i1", "ann", ["x", "y"]), ("i1", "bob", ["x"]), ("i1", "cay", ["x", "y", "z"])]
    assert resolve(Kind.MULTILABEL, votes, how) == Resolved({"i1": ["x", "y"]}, 0)


@pytest.mark.parametrize("how", BOTH)
def test_none_of_these_is_an_answer(how: Aggregation) -> None:
    """Annotation 42: an item without any label is a valid negative."""
    assert resolve(Kind.MULTILABEL, [("i1", "ann", []), ("i1", "bob", [])], how) == Resolved({"i1": []}, 0)
    found = resolve(Kind.MULTILABEL, [("i1", "ann", []), ("i2", "ann", ["x"])], how)
    assert found == Resolved({"i1": [], "i2": ["x"]}, 0)


def test_a_multiselect_divided_over_one_label_is_a_tie() -> None:
    assert resolve(Kind.MULTILABEL, [("i1", "ann", ["x", "y"]), ("i1", "bob", ["x"])], "majority") == Resolved({}, 1)


def test_points_of_a_scale_keep_their_type() -> None:
    votes = [("i1", "ann", 4), ("i1", "bob", 4), ("i1", "cay", 2)]
    assert resolve(Kind.ORDINAL, votes, "majority") == Resolved({"i1": 4}, 0)


def test_numbers_become_their_mean() -> None:
    votes = [("i1", "ann", 0), ("i1", "bob", 1.5), ("i2", "ann", 7)]
    assert resolve(Kind.CONTINUOUS, votes, "consensus") == Resolved({"i1": 0.75, "i2": 7.0}, 0)


@pytest.mark.parametrize("how", BOTH)
def test_of_texts_the_one_stays_that_is_most_like_the_others(how: Aggregation) -> None:
    votes = [
        ("i1", "ann", "the sky is blue"),
        ("i1", "bob", "no idea"),
        ("i1", "cay", "a blue sky"),
        ("i2", "ann", "x"),
    ]
    assert resolve(Kind.TEXT, votes, how) == Resolved({"i1": "the sky is blue", "i2": "x"}, 0)
    assert resolve(Kind.TEXT, list(reversed(votes)), how).answers["i1"] == "the sky is blue"


def test_a_text_that_two_wrote_beats_one_that_stands_alone() -> None:
    votes = [("i1", "ann", "yes"), ("i1", "bob", "certainly"), ("i1", "cay", "yes")]
    assert resolve(Kind.TEXT, votes, "majority").answers == {"i1": "yes"}


@pytest.mark.parametrize("how", BOTH)
def test_sides_of_a_pair_are_decided_as_labels_are(how: Aggregation) -> None:
    votes = [("i1", "ann", "a"), ("i1", "bob", "tie"), ("i1", "cay", "tie"), ("i2", "ann", "a"), ("i2", "bob", "b")]
    assert resolve(Kind.PAIRWISE, votes, how).answers["i1"] == "tie"
