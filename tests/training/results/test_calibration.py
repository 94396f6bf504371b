"""Expected calibration error over ten equal bins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from potato.training.results.calibration import calibration

CONFIDENT = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50)


@given(CONFIDENT)
def test_equals_the_definition_bin_by_bin(pairs: list[tuple[float, bool]]) -> None:
    confidence, correct = (np.array(column) for column in zip(*pairs, strict=True))
    expected = 0.0
    for number in range(1, 11):
        held = (np.ceil(confidence * 10) == number) | ((confidence == 0) & (number == 1))
        if held.any():
            expected += held.mean() * abs(confidence[held].mean() - correct[held].mean())
    found = calibration(confidence.tolist(), correct.tolist())
    assert found.error == pytest.approx(expected, abs=1e-9)
    assert sum(bin_.n for bin_ in found.bins) == len(pairs)


def test_the_diagram_is_the_one_that_scikit_learn_draws() -> None:
    curve = pytest.importorskip("sklearn.calibration").calibration_curve
    random = np.random.default_rng(3)
    confidence = random.beta(4, 2, size=400)
    correct = random.random(400) < confidence**2
    right, sure = curve(correct, confidence, n_bins=10)
    bins = calibration(confidence.tolist(), correct.tolist()).bins
    assert [bin_.accuracy for bin_ in bins] == pytest.approx(right)
    assert [bin_.confidence for bin_ in bins] == pytest.approx(sure)


def test_the_bins_say_what_they_hold() -> None:
    found = calibration([0.55, 0.6, 1.0, 0.0, None], [True, False, True, False, True])
    assert [bin_.as_json() for bin_ in found.bins] == [
        {"from": 0.0, "to": 0.1, "n": 1, "confidence": 0.0, "accuracy": 0.0},
        {"from": 0.5, "to": 0.6, "n": 2, "confidence": pytest.approx(0.575), "accuracy": 0.5},
        {"from": 0.9, "to": 1.0, "n": 1, "confidence": 1.0, "accuracy": 1.0},
    ]


def test_without_confidence_there_is_no_error_to_speak_of() -> None:
    assert calibration([None, None], [True, False]).error is None
    assert calibration([], []).bins == []
