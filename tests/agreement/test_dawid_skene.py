"""Dawid-Skene consensus against the original paper, a plain reference, and what users expect of it."""

from __future__ import annotations

import random
import time
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from potato.agreement import dawid_skene, majority
from potato.agreement.consensus import Consensus, Vote

# Dawid and Skene (1979), table 1: 45 patients, observer 1 three times, observers 2 to 5 once each.
PATIENTS = """
111 1 1 1 1|333 4 3 3 4|112 2 1 2 2|222 3 1 2 1|222 3 2 2 2|222 3 3 2 2|122 2 1 1 1|333 3 4 3 3|222 2 2 2 3|232 2 2 2 3
444 4 4 4 4|222 3 3 4 3|111 1 1 1 1|222 3 2 1 2|121 1 1 1 1|111 2 1 1 1|111 1 1 1 1|111 1 1 1 1|222 2 2 2 1|222 1 3 2 2
222 2 2 2 2|222 2 2 2 1|222 3 2 2 2|221 2 2 2 2|111 1 1 1 1|111 1 1 1 1|232 2 2 2 2|111 1 1 1 1|111 1 1 1 1|112 1 1 2 1
111 1 1 1 1|333 3 2 3 3|111 1 1 1 1|222 2 2 2 2|222 3 2 3 2|433 4 3 4 3|221 2 2 3 2|232 3 2 3 3|333 3 4 3 2|111 1 1 1 1
111 1 1 1 1|121 2 1 1 1|232 2 2 2 2|121 1 1 1 1|222 2 2 2 2
"""


def _patients() -> list[Vote]:
    rows = PATIENTS.strip().replace("\n", "|").split("|")
    return [
        (patient, observer, int(said))
        for patient, row in enumerate(rows, 1)
        for observer, answers in enumerate(row.split(), 1)
        for said in answers
    ]


def test_the_paper_s_own_data_give_the_paper_s_class_shares() -> None:
    """Table 2 of the paper: p = 0.40, 0.42, 0.11, 0.07."""
    found = dawid_skene.consensus(_patients(), pseudo_votes=0)
    assert found.classes == [1, 2, 3, 4]
    assert found.posterior.mean(axis=0) == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)


def test_the_paper_s_own_data_give_the_paper_s_diagnoses() -> None:
    """Table 4 of the paper: patient 2 is a 3, patient 3 a 2, patient 36 a 4, patient 38 a 3 after all."""
    labels = dawid_skene.consensus(_patients(), pseudo_votes=0).labels
    assert {patient: labels[patient] for patient in (1, 2, 3, 4, 7, 12, 20, 30, 38, 39)} == {
        1: 1, 2: 4, 3: 2, 4: 2, 7: 1, 12: 3, 20: 2, 30: 1, 38: 3, 39: 3,
    }  # fmt: skip


def _reference(votes: list[Vote], pseudo: float) -> dict[object, dict[object, float]]:
    """The same model written out with dictionaries and probabilities instead of logarithms."""
    items = sorted({item for item, _, _ in votes}, key=repr)
    classes = sorted({label for _, _, label in votes}, key=repr)
    by_item = defaultdict(list)
    for item, annotator, label in votes:
        by_item[item].append((annotator, label))
    belief = {
        item: {k: sum(label == k for _, label in by_item[item]) / len(by_item[item]) for k in classes} for item in items
    }
    for _ in range(dawid_skene.MAX_ITERATIONS):
        prior = {k: sum(belief[item][k] for item in items) / len(items) for k in classes}
        counts: dict[tuple[object, object, object], float] = defaultdict(float)
        seen: dict[tuple[object, object], float] = defaultdict(float)
        for item, annotator, label in votes:
            for k in classes:
                counts[annotator, k, label] += belief[item][k]
                seen[annotator, k] += belief[item][k]
        after = {}
        for item in items:
            weight = dict(prior)
            for annotator, label in by_item[item]:
                for k in classes:
                    rate = (counts[annotator, k, label] + pseudo * (k == label)) / (seen[annotator, k] + pseudo)
                    weight[k] *= rate
            after[item] = {k: weight[k] / sum(weight.values()) for k in classes}
        change = max(abs(after[item][k] - belief[item][k]) for item in items for k in classes)
        belief = after
        if change < dawid_skene.TOLERANCE:
            break
    return belief


VOTES = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 3), st.sampled_from("abc")),
    min_size=1,
    max_size=30,
    unique_by=lambda v: v[:2],
)


@given(VOTES)
@settings(max_examples=50)
def test_equals_a_plain_reference_where_the_votes_decide(votes: list[Vote]) -> None:
    found, expected = dawid_skene.consensus(votes), _reference(votes, pseudo=1.0)
    if found.iterations == dawid_skene.MAX_ITERATIONS:
        return
    for item, label in found.labels.items():
        ranked = sorted(expected[item].values(), reverse=True)
        if label is not None and len(ranked) > 1 and ranked[0] - ranked[1] > 0.01:
            assert expected[item][label] == max(expected[item].values())
            assert found.probabilities[item][label] == pytest.approx(expected[item][label], abs=1e-3)


@given(VOTES, st.randoms(use_true_random=False))
def test_the_order_of_the_votes_does_not_matter(votes: list[Vote], shuffle: random.Random) -> None:
    shuffled = votes.copy()
    shuffle.shuffle(shuffled)
    for method in (dawid_skene.consensus, majority.consensus):
        assert method(votes).labels == method(shuffled).labels
        assert np.array_equal(method(votes).posterior, method(shuffled).posterior)


@given(st.dictionaries(st.integers(), st.sampled_from("abcdef"), max_size=40))
def test_one_annotator_is_taken_at_their_word(said: dict[int, str]) -> None:
    votes = [(item, "ann", label) for item, label in said.items()]
    assert dawid_skene.consensus(votes).labels == said
    assert majority.consensus(votes).labels == said


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("aaaaaaaaab")), max_size=60))
@settings(max_examples=30)
def test_one_vote_an_item_is_taken_at_its_word_however_rare(said: list[tuple[int, str]]) -> None:
    """Where annotators never meet, nothing speaks against any of them."""
    votes = [(item, annotator, label) for item, (annotator, label) in enumerate(said)]
    assert dawid_skene.consensus(votes).labels == {item: label for item, _, label in votes}


def test_an_annotator_who_only_knows_the_rare_label_is_not_overruled() -> None:
    votes: list[Vote] = [(item, "ann", "common") for item in range(1000)] + [(2000, "bob", "rare")]
    assert dawid_skene.consensus(votes).labels[2000] == "rare"


def test_an_even_pair_of_annotators_is_a_tie() -> None:
    votes = [(1, "ann", "a"), (1, "bob", "b")]
    for method in (dawid_skene.consensus, majority.consensus):
        found = method(votes)
        assert found.labels == {1: None} and found.ties == 1
        assert found.probabilities == {1: {"a": 0.5, "b": 0.5}}


def test_a_symmetric_tie_stays_a_tie_through_every_iteration() -> None:
    votes = [
        (item, who, label) for item in range(9) for who, label in (("ann", "ab"[item % 2]), ("bob", "ba"[item % 2]))
    ]
    votes = [*votes, (9, "ann", "b"), (9, "bob", "a")]
    assert set(dawid_skene.consensus(votes).labels.values()) == {None}


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=1, max_size=8))
def test_what_is_even_by_symmetry_is_a_tie_whatever_the_last_bits_of_sums(items: list[list[int]]) -> None:
    """Every item is there in all three relabellings, so nothing can prefer a label for the item that got each once."""
    votes: list[Vote] = [
        ((item, turn), f"u{who}", "abc"[(label + turn) % 3])
        for turn in range(3)
        for item, labels in enumerate(items)
        for who, label in enumerate(labels)
    ]
    votes += [("even", f"new{place}", label) for place, label in enumerate("abc")]
    assert dawid_skene.consensus(votes).labels["even"] is None


def _crowd(items: int, seed: int) -> tuple[list[Vote], dict[int, str]]:
    """Two reliable annotators and three who mostly guess, each on every item."""
    source = random.Random(seed)
    truth = {item: source.choice("abc") for item in range(items)}
    skill = {"ann": 0.95, "bob": 0.9, "cay": 0.45, "dan": 0.4, "eve": 0.35}
    votes: list[Vote] = [
        (item, who, label if source.random() < share else source.choice("abc"))
        for item, label in truth.items()
        for who, share in skill.items()
    ]
    return votes, truth


def _right(found: Consensus, truth: dict[int, str]) -> float:
    return sum(found.labels[item] == label for item, label in truth.items()) / len(truth)


def test_reliable_annotators_count_more_than_many() -> None:
    votes, truth = _crowd(600, seed=1)
    assert _right(dawid_skene.consensus(votes), truth) > _right(majority.consensus(votes), truth) + 0.03


def test_an_adversary_s_answers_are_read_the_other_way_round() -> None:
    votes, truth = [], {item: "ab"[item % 2] for item in range(200)}
    source = random.Random(3)
    for item, label in truth.items():
        votes += [
            (item, who, label if source.random() < 0.8 else "ab"["ab".index(label) - 1])
            for who in ("ann", "bob", "cay")
        ]
        votes.append((item, "liar", "ab"["ab".index(label) - 1]))
    assert _right(dawid_skene.consensus(votes), truth) > 0.97 > 0.75 > _right(majority.consensus(votes), truth)


def test_nothing_to_resolve_is_nothing() -> None:
    for method in (dawid_skene.consensus, majority.consensus):
        assert method([]).labels == {} and method([]).ties == 0


def test_a_label_of_many_annotators_and_labels_needs_no_table_of_all_pairs() -> None:
    votes = [(item, f"u{item % 5000}", f"label {item % 200}") for item in range(20_000)]
    found = dawid_skene.consensus(votes)
    assert found.labels == {item: label for item, _, label in votes}


@pytest.mark.computes
def test_three_hundred_thousand_votes_take_seconds() -> None:
    votes, truth = _crowd(60_000, seed=2)
    started = time.process_time()
    found = dawid_skene.consensus(votes)
    assert time.process_time() - started < 20
    assert _right(found, truth) > 0.9
