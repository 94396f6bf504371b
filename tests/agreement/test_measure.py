"""Agreement by the scheme's kind."""

from __future__ import annotations

import pytest

from potato.agreement.krippendorff import Level, alpha
from potato.agreement.measure import UnmeasuredKind, of_labels, of_votes
from potato.schemes import Kind

LABELS = [("i1", "ann", "a"), ("i1", "bob", "b"), ("i2", "ann", "a"), ("i2", "bob", "a"), ("i3", "cay", "a")]


def test_counts_only_annotators_who_share_an_item() -> None:
    found = of_labels(Kind.NOMINAL, LABELS)
    assert (found.items, found.annotators, found.raw) == (2, 2, 0.5)
    assert found.alpha == alpha([["a", "b"], ["a", "a"]], Level.NOMINAL).alpha


def test_a_later_answer_of_the_same_annotator_replaces_the_earlier() -> None:
    found = of_labels(Kind.NOMINAL, [*LABELS[:2], ("i1", "bob", "a"), ("i2", "ann", "b"), ("i2", "bob", "b")])
    assert (found.alpha, found.raw, found.items) == (1.0, 1.0, 2)


def test_lists_of_labels_are_compared_as_sets() -> None:
    found = of_labels(Kind.MULTILABEL, [(1, "ann", ["x", "y"]), (1, "bob", ["y", "x"]), (2, "ann", []), (2, "bob", [])])
    assert (found.level, found.alpha, found.raw) == (Level.SETS, 1.0, 1.0)


def test_points_of_a_scale_differ_by_how_far_they_are_apart() -> None:
    near = of_labels(Kind.ORDINAL, [(1, "ann", 1), (1, "bob", 2), (2, "ann", 5), (2, "bob", 5)])
    far = of_labels(Kind.ORDINAL, [(1, "ann", 1), (1, "bob", 5), (2, "ann", 5), (2, "bob", 5)])
    assert near.alpha is not None and far.alpha is not None and near.alpha > far.alpha


def test_a_bundle_s_votes_say_the_same_as_the_labels() -> None:
    votes = [[["a", 1], ["b", 1]], [["a", 2]], [["a", 1]]]
    assert of_votes(Kind.NOMINAL, votes).alpha == of_labels(Kind.NOMINAL, LABELS).alpha
    assert of_votes(Kind.NOMINAL, votes).annotators is None
    assert of_votes(Kind.MULTILABEL, [[[["x"], 2]], [[["x", "y"], 1], [["y", "x"], 1]]]).alpha == 1.0


def test_nothing_labelled_is_undefined_and_says_why() -> None:
    found = of_labels(Kind.NOMINAL, [])
    assert (found.alpha, found.annotators, found.reason) == (None, 0, "no item has two or more answers")


def test_a_kind_without_a_measure_says_so() -> None:
    with pytest.raises(UnmeasuredKind, match="agreement on span answers is not measured"):
        of_labels(Kind.SPAN, [])
