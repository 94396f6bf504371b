"""Intervals of shares, against published values and against how often they cover."""

from __future__ import annotations

import random

import pytest

from potato.training.results.proportion import difference, wilson


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    # R. G. Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_s_interval_is_the_published_one(part: int, whole: int, low: float, high: float) -> None:
    assert wilson(part, whole) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_it_is_the_other_way_round_for_what_is_left() -> None:
    low, high = wilson(3, 50) or (0, 0)
    assert wilson(47, 50) == (pytest.approx(1 - high), pytest.approx(1 - low))


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    # R. G. Newcombe, "Interval estimation for the difference" (1998), table II, method 10
    [
        ((56, 70, 48, 80), 0.0524, 0.3339),
        ((9, 10, 3, 10), 0.1705, 0.8090),
        ((10, 10, 0, 20), 0.6791, 1.0),
        ((0, 10, 0, 20), -0.1611, 0.2775),
    ],
)
def test_newcombe_s_interval_is_the_published_one(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    found = difference(*counts)
    assert found is not None
    assert found[1] == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_nothing_counted_has_no_interval() -> None:
    assert wilson(0, 0) is None
    assert difference(1, 2, 0, 0) is None


def test_the_interval_covers_as_often_as_it_says() -> None:
    chance = random.Random(5)
    held = 0
    for _ in range(2000):
        part = sum(chance.random() < 0.8 for _ in range(50))
        low, high = wilson(part, 50) or (0, 0)
        held += low <= 0.8 <= high
    assert 0.92 < held / 2000 < 0.98
