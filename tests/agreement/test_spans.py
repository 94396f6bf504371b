"""Agreement on spans, and what several annotators' spans come to."""

from __future__ import annotations

import random
from typing import Any

import krippendorff
import numpy as np
import pytest

from potato.agreement.measure import of_spans
from potato.agreement.resolution import resolve
from potato.agreement.spans import agreement
from potato.schemes import Kind


def span(start: int, end: int, label: str = "x") -> dict[str, Any]:
    return {"start": start, "end": end, "label": label, "text": "t" * (end - start)}


def test_alpha_is_krippendorffs_over_the_characters() -> None:
    chance = random.Random(3)
    units, columns = [], []
    for _ in range(30):
        length = chance.randrange(5, 60)
        answers = []
        for _ in range(chance.randrange(2, 4)):
            starts = [chance.randrange(length) for _ in range(chance.randrange(3))]
            answers.append([span(s, chance.randrange(s + 1, length + 1), chance.choice("xyz")) for s in starts])
        units.append((length, answers))
        for place in range(length):
            codes = [
                sum(1 << "xyz".index(label) for label in {s["label"] for s in answer if s["start"] <= place < s["end"]})
                for answer in answers
            ]
            columns.append(codes + [np.nan] * (3 - len(codes)))
    measured = agreement(units)
    wanted = krippendorff.alpha(np.asarray(columns).T, level_of_measurement="nominal")
    assert measured.alpha == pytest.approx(wanted, abs=1e-12)
    assert measured.items == 30


def test_raw_is_the_f1_of_exact_spans_over_pairs_of_annotators() -> None:
    one, two, three = [span(0, 2), span(3, 4)], [span(0, 2), span(3, 5)], [span(0, 2)]
    assert agreement([(9, [one, two])]).raw == pytest.approx(2 * 1 / 4)
    # pairs: one-two 1 of 2+2, one-three 1 of 2+1, two-three 1 of 2+1
    assert agreement([(9, [one, two, three])]).raw == pytest.approx(2 * 3 / 10)


def test_what_cannot_be_measured_says_why() -> None:
    assert agreement([(9, [[span(0, 2)]])]).reason == "no item has two or more answers"
    nothing = agreement([(9, [[], []])])
    assert (nothing.alpha, nothing.raw, nothing.reason) == (None, None, "no annotator marked anything")
    whole = agreement([(2, [[span(0, 2)], [span(0, 2)]])])
    assert (whole.alpha, whole.raw) == (None, 1.0)
    assert "throughout" in str(whole.reason)


def test_equal_spans_agree_wholly_and_unequal_ones_less() -> None:
    same = agreement([(10, [[span(0, 4)], [span(0, 4)]])])
    assert (same.alpha, same.raw) == (1.0, 1.0)
    near = agreement([(10, [[span(0, 4)], [span(0, 5)]])])
    assert near.raw == 0.0
    assert near.alpha is not None
    assert 0.5 < near.alpha < 1


def test_annotators_who_are_alone_with_their_items_count_not() -> None:
    rows = [(1, "ann", [span(0, 1)], 5), (1, "bob", [], 5), (1, "old", "x", 5), (1, "odd", ["x"], 5), (2, "eve", [], 5)]
    measured = of_spans(rows)
    assert (measured.items, measured.annotators) == (1, 2)


def test_a_span_that_most_marked_stays() -> None:
    votes = [(1, "ann", [span(0, 2), span(5, 6, "y")]), (1, "bob", [span(0, 2)]), (1, "eve", [span(0, 2), span(7, 8)])]
    for aggregation in ("majority", "consensus"):
        assert resolve(Kind.SPAN, votes, aggregation).answers == {1: [span(0, 2)]}  # type: ignore[arg-type]


def test_annotators_exactly_divided_over_a_span_leave_the_item_out() -> None:
    votes = [(1, "ann", [span(0, 2)]), (1, "bob", []), (2, "ann", []), (2, "bob", [])]
    resolved = resolve(Kind.SPAN, votes, "majority")
    assert (resolved.answers, resolved.ties) == ({2: []}, 1)


def test_one_annotators_overlapping_spans_all_stay() -> None:
    answer = [span(0, 2), span(1, 5), span(1, 5, "y")]
    assert resolve(Kind.SPAN, [(1, "ann", answer)], "consensus").answers == {1: answer}


def test_of_boundaries_in_dispute_the_likeliest_stay() -> None:
    """bob marks what the others mark, and more than once one character too many; eve never sees anything."""
    votes: list[tuple[int, str, list[dict[str, Any]]]] = []
    for item in range(20):
        votes += [(item, name, [span(0, 4)]) for name in ("ann", "cat")]
        votes.append((item, "bob", [span(0, 5)] if item == 7 else [span(0, 4)]))
    resolved = resolve(Kind.SPAN, votes, "consensus")
    assert all(answer == [span(0, 4)] for answer in resolved.answers.values())
    disputed = [(1, "ann", [span(0, 4)]), (1, "bob", [span(0, 5)])]
    agreed = [(item, name, [span(0, 3)]) for item in range(2, 40) for name in ("ann", "bob")]
    assert resolve(Kind.SPAN, disputed + agreed, "consensus").answers[1] in ([span(0, 4)], [span(0, 5)])


def test_the_order_of_the_votes_changes_nothing() -> None:
    chance = random.Random(5)
    votes = [
        (item, name, [span(s, s + 3) for s in chance.sample(range(6), chance.randrange(3))])
        for item in range(12)
        for name in "abc"
    ]
    for answer in votes:
        answer[2].sort(key=lambda one: one["start"])
    shuffled = chance.sample(votes, len(votes))
    first, second = resolve(Kind.SPAN, votes, "consensus"), resolve(Kind.SPAN, shuffled, "consensus")
    assert first.answers == second.answers
    assert first.ties == second.ties
