"""Two models on the same items: both scores, and an interval of their difference that means what it says."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from potato.schemes import METRICS, Kind
from potato.training.results.paired import ALIKE, NOTHING_SHARED, ONE_ITEM, paired
from potato.training.results.scores import Scored, score

LABELS = ["a", "b", "c"]


def _answers(chance: random.Random, targets: list[str], right: float) -> list[str]:
    return [target if chance.random() < right else chance.choice(LABELS) for target in targets]


def _sample(seed: int, n: int = 120) -> tuple[list[str], list[str], list[str]]:
    chance = random.Random(seed)
    targets = chance.choices(LABELS, [5, 3, 2], k=n)
    return targets, _answers(chance, targets, 0.85), _answers(chance, targets, 0.7)


def test_both_scores_and_their_difference_are_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    targets, one, other = _sample(1)
    found = paired(Kind.NOMINAL, targets, one, other, seed=0)
    wanted = [metrics.f1_score(targets, said, average="macro") for said in (one, other)]
    assert [found.one, found.other] == pytest.approx(wanted)
    assert found.difference == pytest.approx(wanted[0] - wanted[1])
    assert (found.items, found.differing) == (120, sum(a != b for a, b in zip(one, other, strict=True)))


def test_the_interval_covers_the_true_difference_as_often_as_it_says() -> None:
    """Accuracy that is 0.85 + 0.15 / 3 against 0.7 + 0.3 / 3: the truth is found by one very large sample."""
    truth = paired(Kind.NOMINAL, *_sample(99, 60_000), seed=0).difference
    assert truth is not None
    held = [paired(Kind.NOMINAL, *_sample(seed), seed=seed).interval for seed in range(100)]
    covering = sum(interval[0] <= truth <= interval[1] for interval in held if interval is not None)
    assert covering >= 88  # of 95 wanted; less than 88 happens to an honest interval once in 250 times


def test_the_interval_is_that_of_resampling_the_items_one_by_one() -> None:
    targets, one, other = ([int(char) for char in digits] for digits in ("5342516342", "5341526341", "2343534345"))
    found = paired(Kind.ORDINAL, targets, one, other, seed=3)
    errors = np.abs(np.subtract(one, targets)), np.abs(np.subtract(other, targets))
    assert found.difference == pytest.approx(errors[0].mean() - errors[1].mean())
    drawn = np.random.default_rng(1).integers(0, 10, size=(20_000, 10))
    wanted = np.percentile((errors[0] - errors[1])[drawn].mean(axis=1), [2.5, 97.5])
    assert found.interval == pytest.approx(wanted, abs=0.12)


@pytest.mark.parametrize(
    ("targets", "one", "other", "reason"),
    [
        ([], [], [], NOTHING_SHARED),
        (["a"], ["a"], ["b"], ONE_ITEM),
        (["a", "b"], ["a", "a"], ["a", "a"], ALIKE),
    ],
)
def test_what_is_undefined_says_why(targets: Any, one: Any, other: Any, reason: str) -> None:
    found = paired(Kind.NOMINAL, targets, one, other, seed=0)
    assert (found.interval, found.reason) == (None, reason)


SPAN = [{"start": 0, "end": 3, "label": "x", "text": "Ann"}]


@pytest.mark.parametrize(
    ("name", "targets", "one", "other", "reason"),
    [
        (
            "entity_precision",
            [SPAN, SPAN],
            [SPAN, []],
            [[], []],
            "the second model has no entity precision",
        ),
        ("entity_precision", [SPAN, SPAN], [[], []], [SPAN, []], "the first model has no entity precision"),
        ("entity_f1", [[], []], [[], []], [[], []], "both models have no entity f1"),
        ("entity_recall", [[], []], [SPAN, []], [[], []], "both models have no entity recall"),
        ("entity_precision", [[]], [SPAN], [[]], "the second model has no entity precision"),
    ],
)
def test_a_figure_that_one_of_them_has_not_is_named(name: str, targets: Any, one: Any, other: Any, reason: str) -> None:
    found = paired(Kind.SPAN, targets, one, other, 0, name)
    assert (found.difference, found.reason) == (None, f"{reason} on the shared items")


@pytest.mark.parametrize("kind", list(Kind))
def test_every_figure_that_judges_is_compared_and_is_that_of_the_scores(kind: Kind) -> None:
    """What the pages say of two runs and what each of them says of itself agree."""
    chance = random.Random(4)
    text = "Ann met Bob in Rome"
    spans = [{"start": text.index(t), "end": text.index(t) + 3, "label": t[0], "text": t} for t in ("Ann", "Bob")]
    some: dict[Kind, list[Any]] = {
        Kind.NOMINAL: LABELS,
        Kind.PAIRWISE: ["a", "b", "tie"],
        Kind.MULTILABEL: [["a"], ["a", "b"], [], ["c"]],
        Kind.ORDINAL: [1, 2, 3, 4, 5],
        Kind.CONTINUOUS: [0.5, 1.25, 7.0],
        Kind.TEXT: ["a blue sky", "a sky", "no"],
        Kind.SPAN: [spans, spans[:1], [], spans[1:]],
    }
    sides = [chance.choices(some[kind], k=80) for _ in range(3)]
    for judge in METRICS[kind]:
        found = paired(kind, *sides, seed=0, judged_by=judge.name)
        scored = [
            score(kind, [], test=[Scored(t, s, text=text) for t, s in zip(sides[0], said, strict=True)])
            for said in sides[1:]
        ]
        assert [found.one, found.other] == pytest.approx([one["test"][judge.name] for one in scored])
        assert (found.name, found.better) == (judge.name, "higher" if judge.higher_is_better else "lower")
        assert found.interval is not None
        assert found.interval[0] < found.difference < found.interval[1]  # type: ignore[operator]
        assert all(one["test"]["intervals"][judge.name] is not None for one in scored)


def test_sets_of_labels_are_compared_by_macro_f1() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    chance = random.Random(2)
    targets, one, other = ([[label for label in LABELS if chance.random() < 0.5] for _ in range(60)] for _ in range(3))
    found = paired(Kind.MULTILABEL, targets, one, other, seed=0)
    table = [[[label in answer for label in LABELS] for answer in answers] for answers in (targets, one, other)]
    wanted = [metrics.f1_score(table[0], said, average="macro") for said in table[1:]]
    assert [found.one, found.other] == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("kind", "name", "targets", "one", "other"),
    [
        (Kind.PAIRWISE, "accuracy", ["a", "b", "tie", "b"], ["a", "b", "b", "b"], ["a", "a", "a", "b"]),
        (
            Kind.TEXT,
            "chrf",
            ["a blue sky", "no", "so", "it"],
            ["a blue sky", "no", "so", "is"],
            ["green", "no", "x", "y"],
        ),
    ],
)
def test_sides_and_texts_are_compared_by_their_first_figure(
    kind: Kind, name: str, targets: list[str], one: list[str], other: list[str]
) -> None:
    found = paired(kind, targets, one, other, seed=0)
    assert (found.name, found.better) == (name, "higher")
    assert found.one is not None and found.other is not None and found.interval is not None
    assert found.difference == pytest.approx(found.one - found.other)
    assert found.one > found.other
