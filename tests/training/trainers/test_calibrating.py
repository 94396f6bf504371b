"""The arithmetic of `decision-calibrate`, against scikit-learn's and SciPy's own, and against what it promises."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from potato.training.results.calibration import calibration
from potato.training.trainers import calibrating
from potato.training.trainers.calibrating import Judged, Said


def judged(count: int, heat: float, seed: int = 1, labels: int = 3) -> list[Judged]:
    """Answers of a model whose scores are `heat` times too extreme: at that temperature they would be the truth."""
    chance = np.random.default_rng(seed)
    scores = chance.normal(0, 1.5, (count, labels))
    true = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    loud = np.exp(scores * heat) / np.exp(scores * heat).sum(axis=1, keepdims=True)
    found = []
    for row, shares in zip(loud, true, strict=True):
        place = int(row.argmax())
        said = Said(f"l{place}", float(row[place]), {f"l{n}": float(share) for n, share in enumerate(row)})
        found.append(Judged(said, bool(chance.random() < shares[place])))
    return found


def test_the_temperature_is_the_one_that_the_model_is_off_by() -> None:
    assert calibrating.temperature(judged(4000, heat=2.5)).settings["temperature"] == pytest.approx(2.5, rel=0.12)
    assert calibrating.temperature(judged(4000, heat=0.5)).settings["temperature"] == pytest.approx(0.5, rel=0.12)


def test_the_temperature_is_a_minimum_of_the_loss() -> None:
    some = judged(300, heat=3.0)
    heat = calibrating.temperature(some).settings["temperature"]

    def loss(at: float) -> float:
        return calibrating.nll([calibrating.warmed(one.said, at) for one in some], [one.right for one in some])

    grid = [loss(float(at)) for at in np.geomspace(0.05, 20, 4001)]
    assert loss(heat) == pytest.approx(min(grid), abs=1e-6)


def test_the_warmed_confidence_is_the_softmax_of_the_logits() -> None:
    shares = np.array([0.7, 0.2, 0.1])
    said = Said("a", 0.7, dict(zip("abc", shares.tolist(), strict=True)))
    logits = np.log(shares) / 2.0
    assert calibrating.warmed(said, 2.0) == pytest.approx(math.e ** logits[0] / np.exp(logits).sum())
    assert calibrating.warmed(said, 1.0) == pytest.approx(0.7)
    assert calibrating.warmed(Said("a", 0.7), 1.0) == pytest.approx(0.7)
    assert 0 < calibrating.warmed(Said("a", 1.0, {"a": 1.0, "b": 0.0}), 3.0) < 1


def test_the_staircase_is_scikit_learns() -> None:
    some = judged(400, heat=2.0)
    edge = 1 / 402
    oracle = IsotonicRegression(y_min=edge, y_max=1 - edge, out_of_bounds="clip")
    oracle.fit([one.said.confidence for one in some], [one.right for one in some])
    fitted = calibrating.isotonic(some)
    at = np.linspace(0, 1, 1001)
    ours = [fitted.confidence(Said("l0", float(x))) for x in at]
    assert ours == pytest.approx(oracle.predict(at).tolist())
    assert all(one <= other + 1e-12 for one, other in pairwise(ours))


def test_the_calibration_error_is_the_servers() -> None:
    some = judged(500, heat=2.0)
    sure, right = [one.said.confidence for one in some], [one.right for one in some]
    assert calibrating.ece(sure, right) == pytest.approx(calibration(sure, right).error)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_it_helps_where_the_model_is_too_sure_and_on_answers_that_it_was_not_fitted_on(method: str) -> None:
    tried = calibrating.trial(judged(800, heat=3.0), method)
    some = judged(800, heat=3.0)
    before = calibrating.ece([one.said.confidence for one in some], [one.right for one in some])
    assert tried.helps
    assert tried.ece < before / 2
    fitted, fresh = calibrating.METHODS[method](some), judged(4000, heat=3.0, seed=9)
    sure, right = [fitted.confidence(one.said) for one in fresh], [one.right for one in fresh]
    assert calibrating.ece(sure, right) < 0.06
    assert calibrating.nll(sure, right) < calibrating.nll([one.said.confidence for one in fresh], right)


def test_it_seldom_claims_to_help_where_nothing_is_to_be_bettered() -> None:
    claims = sum(calibrating.trial(judged(150, heat=1.0, seed=seed), "temperature").helps for seed in range(60))
    assert claims <= 12


def test_a_threshold_keeps_its_promise_nearly_always() -> None:
    broken, found = 0, 0
    for seed in range(200):
        chance = random.Random(seed)
        sure = [chance.random() for _ in range(400)]
        right = [chance.random() < one for one in sure]  # from t on, (1 + t) / 2 of the answers are right
        threshold = calibrating.threshold(sure, right, 0.8, 0.9)
        if threshold is not None:
            found += 1
            broken += (1 + threshold.confidence) / 2 < 0.8
    assert found > 60
    assert broken <= 0.1 * 200 + 3 * math.sqrt(200 * 0.1 * 0.9)


def test_a_threshold_wants_enough_answers_and_counts_them() -> None:
    need = calibrating.fewest(0.95, 0.9)
    assert need == 45
    assert calibrating.threshold([0.9] * (need - 1), [True] * (need - 1), 0.95, 0.9) is None
    found = calibrating.threshold([0.9] * need, [True] * need, 0.95, 0.9)
    assert found is not None and (found.confidence, found.judged, found.right) == (0.9, need, need)
    assert calibrating.threshold([], [], 0.95, 0.9) is None
    assert calibrating.threshold([0.5] * 400, [n % 2 == 0 for n in range(400)], 0.95, 0.9) is None


def test_ties_stand_or_fall_together() -> None:
    sure = [0.9] * 100 + [0.8] * 100
    right = [True] * 100 + [n % 2 == 0 for n in range(100)]
    found = calibrating.threshold(sure, right, 0.9, 0.9)
    assert found is not None and (found.confidence, found.judged) == (0.9, 100)


def test_the_bound_is_exact() -> None:
    from scipy.stats import binomtest

    for hits, count in ((45, 45), (180, 200), (1, 30)):
        exact = binomtest(hits, count, alternative="greater").proportion_ci(0.9, method="exact").low
        assert calibrating.lower_bound(hits, count, 0.9) == pytest.approx(exact)
    assert calibrating.lower_bound(0, 30, 0.9) == 0.0
