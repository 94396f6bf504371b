"""Krippendorff's alpha against the package `krippendorff` and worked examples."""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from potato.agreement.krippendorff import Agreement, Level, alpha

# Krippendorff (2004), figure 11.1 and the computations that follow it: four observers, twelve units.
OBSERVERS = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def _book_units() -> list[list[int]]:
    rows = [line.split() for line in OBSERVERS.strip().splitlines()]
    return [[int(value) for value in column if value != "."] for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(
    ("level", "expected"), [(Level.NOMINAL, 0.743), (Level.ORDINAL, 0.815), (Level.INTERVAL, 0.849)]
)
def test_the_book_s_worked_example(level: Level, expected: float) -> None:
    found = alpha(_book_units(), level)
    assert found.alpha == pytest.approx(expected, abs=0.0006)
    assert found.items == 11


def _oracle(units: list[list[float]], level: str) -> float:
    domain = sorted({value for unit in units for value in unit})
    counts = np.array([[unit.count(value) for value in domain] for unit in units])
    return float(krippendorff.alpha(value_counts=counts, value_domain=domain, level_of_measurement=level))


UNITS = st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=20)


def _defined(units: list[list[int]]) -> bool:
    return len({value for unit in units if len(unit) > 1 for value in unit}) > 1


@given(UNITS, st.sampled_from(["nominal", "ordinal", "interval"]))
def test_equals_the_package_on_any_data(units: list[list[int]], level: str) -> None:
    found = alpha(units, Level(level))
    if not _defined(units):
        assert found.alpha is None and found.reason
    else:
        pairable = [list(map(float, unit)) for unit in units if len(unit) > 1]
        assert found.alpha == pytest.approx(_oracle(pairable, level), abs=1e-9)


@given(UNITS, st.sampled_from(list(Level)[:3]), st.randoms(use_true_random=False))
def test_the_order_of_items_and_of_answers_does_not_matter(
    units: list[list[int]], level: Level, shuffle: random.Random
) -> None:
    shuffled = [shuffle.sample(unit, len(unit)) for unit in units]
    shuffle.shuffle(shuffled)
    first, second = alpha(units, level), alpha(shuffled, level)
    assert (first.items, first.reason) == (second.items, second.reason)
    assert first.alpha == pytest.approx(second.alpha, abs=1e-9)
    assert first.raw == second.raw


@given(UNITS, st.sampled_from(list(Level)[:3]))
def test_counts_and_lists_say_the_same(units: list[list[int]], level: Level) -> None:
    assert alpha([Counter(unit) for unit in units], level) == alpha(units, level)


@given(UNITS)
def test_raw_is_the_share_of_equal_pairs(units: list[list[int]]) -> None:
    pairs = [one == other for unit in units for one, other in combinations(unit, 2)]
    expected = sum(pairs) / len(pairs) if pairs else None
    assert alpha(units, Level.NOMINAL).raw == pytest.approx(expected)


def _masi(one: frozenset[str], other: frozenset[str]) -> float:
    """Passonneau (2006), spelt out for two sets."""
    if one == other:
        return 0.0
    if not one & other:
        return 1.0
    monotone = 2 / 3 if one <= other or other <= one else 1 / 3
    return 1.0 - len(one & other) / len(one | other) * monotone


SETS = st.lists(st.lists(st.frozensets(st.sampled_from("abc")), max_size=5), min_size=1, max_size=12)


@given(SETS)
def test_sets_equal_the_package_with_masi_as_its_distance(units: list[list[frozenset[str]]]) -> None:
    found = alpha([[sorted(answer) for answer in unit] for unit in units], Level.SETS)
    pairable = [unit for unit in units if len(unit) > 1]
    domain = sorted({answer for unit in pairable for answer in unit}, key=sorted)
    if len(domain) < 2:
        assert found.alpha is None
        return
    counts = np.array([[unit.count(answer) for answer in domain] for unit in pairable])
    places = list(range(len(domain)))

    def metric(v1: np.ndarray, v2: np.ndarray, **_: object) -> np.ndarray:
        return np.vectorize(lambda one, other: _masi(domain[int(one)], domain[int(other)]))(v1, v2)

    expected = krippendorff.alpha(value_counts=counts, value_domain=places, level_of_measurement=metric)
    assert found.alpha == pytest.approx(float(expected), abs=1e-9)


def test_many_distinct_sets_are_taken_in_pieces() -> None:
    labels = [f"l{number}" for number in range(11)]
    sets = [[label for bit, label in enumerate(labels) if number >> bit & 1] for number in range(1500)]
    units = [[one, other] for one, other in zip(sets, sets[1:] + sets[:1], strict=True)]
    found = alpha(units, Level.SETS)
    pairs = [_masi(frozenset(one), frozenset(other)) for one, other in units]
    assert found.alpha is not None and found.raw == 0.0
    assert 1 - found.alpha == pytest.approx(float(np.mean(pairs)) / _expected([frozenset(s) for s in sets]), rel=1e-9)


def _expected(sets: list[frozenset[str]]) -> float:
    """Mean distance of two different answers, where each set was given twice."""
    total = 2 * len(sets)
    return 8 * sum(_masi(one, other) for one, other in combinations(sets, 2)) / (total * (total - 1))


def test_no_item_with_two_answers_is_undefined_not_zero() -> None:
    assert alpha([["a"], [], ["b"]], Level.NOMINAL) == Agreement(
        None, None, 0, Level.NOMINAL, None, "no item has two or more answers"
    )


def test_one_answer_throughout_is_undefined_and_says_why() -> None:
    found = alpha([["a", "a"], ["a", "a", "a"]], Level.NOMINAL)
    assert (found.alpha, found.raw, found.items) == (None, 1.0, 2)
    assert found.reason == "every answer is the same, so nothing tells agreement from chance"


def test_perfect_agreement_is_one_however_large_the_numbers() -> None:
    assert alpha([[1e9, 1e9], [1e9 + 1, 1e9 + 1]], Level.INTERVAL).alpha == 1.0


def test_a_value_counted_zero_times_is_not_there() -> None:
    assert alpha([{"a": 2, "b": 0}], Level.NOMINAL).reason is not None


def test_as_json_has_the_shape_of_a_run_s_scores() -> None:
    body = alpha([["a", "b"], ["a", "a"]], Level.NOMINAL).as_json()
    assert body == {"alpha": 0.0, "raw": 0.5, "items": 2, "level": "nominal", "reason": None}
