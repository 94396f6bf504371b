"""Between answers and a model's numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from potato.training.contract.bundle import BundleItem, SchemaInfo
from potato.training.contract.predictions import Prediction
from potato.training.trainers.base import TrainerError
from potato.training.trainers.targets import class_weights, decode, encode, figures, known, log_loss, merit

ABC = SchemaInfo("s", "nominal", ("c", "b", "a", "unused"), ("c", "b", "a"))
TAGS = SchemaInfo("s", "multilabel", ("x", "y"), ("x", "y"))
STARS = SchemaInfo("s", "ordinal", ("1", "2", "3", "4", "5"), ("1", "2", "4", "5"))
NUMBER = SchemaInfo("s", "continuous", (), ())


def item(target: Any) -> BundleItem:
    return BundleItem("i", "", {}, {}, {"s": target}, {}, {})


def said(payload: Any, probabilities: dict[str, float] | None = None) -> Prediction:
    return Prediction("i", "s", payload, None, probabilities)


def test_targets_become_numbers_by_the_models_own_class_list() -> None:
    """annotation 45"""
    assert encode([item("a"), item("c")], ABC) == [2, 0]
    assert encode([item(4), item(1)], STARS) == [2, 0]
    assert encode([item(["y"]), item([]), item(["y", "x"])], TAGS) == [[0, 1], [0, 0], [1, 1]]
    assert encode([item(3), item(-0.5)], NUMBER) == [3.0, -0.5]


def test_an_item_with_a_label_that_no_training_item_has_is_not_used_to_choose() -> None:
    items = [item("a"), item("unused")]
    assert known(items, ABC) == items[:1]
    assert known([item(3), item(4)], STARS) == [item(4)]
    assert known([item(["x", "z"]), item([])], TAGS) == [item([])]


def test_the_most_probable_label_is_predicted_by_name() -> None:
    """annotation 45"""
    assert decode("7", ABC, [0.2, 0.1, 0.7]) == Prediction("7", "s", "a", 0.7, {"c": 0.2, "b": 0.1, "a": 0.7})


def test_an_ordinal_prediction_is_the_median_point_as_a_number() -> None:
    outputs = [0.4, 0.25, 0.25, 0.1]
    prediction = decode("7", STARS, outputs)
    assert (prediction.payload, prediction.confidence) == (2, 0.25)
    points = [1, 2, 4, 5]

    def error(said: int) -> float:
        return sum(share * abs(point - said) for share, point in zip(outputs, points, strict=True))

    assert min(points, key=error) == 2


def test_a_multilabel_prediction_is_every_label_that_is_rather_there() -> None:
    assert decode("7", TAGS, [0.9, 0.2]) == Prediction("7", "s", ["x"], 0.72, {"x": 0.9, "y": 0.2})
    assert decode("7", TAGS, [0.1, 0.2]).payload == []


def test_a_number_has_no_confidence() -> None:
    assert decode("7", NUMBER, [2.5]) == Prediction("7", "s", 2.5)


@pytest.mark.parametrize("schema", [ABC, TAGS, STARS, NUMBER])
def test_an_output_that_is_no_number_is_never_a_prediction(schema: SchemaInfo) -> None:
    """annotation 46"""
    with pytest.raises(TrainerError, match="not a number") as raised:
        decode("7", schema, [math.nan] * max(1, len(schema.classes)))
    assert raised.value.code == "not_finite"


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_the_prediction_is_always_the_largest_of_its_own_probabilities(outputs: list[float]) -> None:
    """annotation 45"""
    prediction = decode("7", ABC, outputs)
    assert prediction.probabilities is not None
    assert prediction.probabilities[prediction.payload] == max(prediction.probabilities.values())
    assert prediction.confidence == max(prediction.probabilities.values())


def test_rare_classes_weigh_as_much_as_common_ones() -> None:
    weights = class_weights([0, 0, 0, 1, 1, 2], ABC)
    assert weights == pytest.approx([2 / 3, 1, 2])
    assert class_weights([[1, 1], [1, 0], [1, 0], [1, 0]], TAGS) == [0.05, 3.0]


@pytest.mark.filterwarnings("ignore")
@given(st.lists(st.tuples(st.sampled_from("cba"), st.sampled_from("cba")), min_size=1, max_size=30))
def test_figures_are_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    truth, answers = zip(*pairs, strict=True)
    own = figures([said(answer) for answer in answers], [item(target) for target in truth], ABC)
    labels = sorted({*truth, *answers})
    assert own["accuracy"] == pytest.approx(metrics.accuracy_score(truth, answers))
    assert own["macro_f1"] == pytest.approx(
        metrics.f1_score(truth, answers, labels=labels, average="macro", zero_division=0)
    )


def test_figures_of_the_other_kinds() -> None:
    tags = figures([said(["x"]), said([])], [item(["x", "y"]), item([])], TAGS)
    assert tags == {"exact_match": 0.5, "micro_f1": pytest.approx(2 / 3), "macro_f1": 0.5}
    assert figures([said(4), said(1)], [item(5), item(1)], STARS) == {"mae": 0.5}
    assert figures([said(2.5)], [item(2)], NUMBER) == {"mae": 0.5}


def test_nothing_held_out_is_no_figure() -> None:
    """annotation 43"""
    assert figures([], [], ABC) == {}
    assert log_loss([], [], ABC) is None
    assert merit({}, None) is None


def test_log_loss_tells_models_apart_that_answer_alike() -> None:
    sure, unsure = said("a", {"a": 0.9, "b": 0.1, "c": 0.0}), said("a", {"a": 0.5, "b": 0.3, "c": 0.2})
    own = figures([sure], [item("a")], ABC)
    losses = [log_loss([prediction], [item("a")], ABC) for prediction in (sure, unsure)]
    assert losses == pytest.approx([-math.log(0.9), -math.log(0.5)])
    assert merit(own, losses[0]) > merit(own, losses[1])  # type: ignore[operator]
    assert log_loss([sure], [item("c")], ABC) == pytest.approx(-math.log(1e-6))
    half = said(["x"], {"x": 0.5, "y": 0.25})
    assert log_loss([half], [item(["x"])], TAGS) == pytest.approx(-(math.log(0.5) + math.log(0.75)) / 2)
