"""Held-out scores against scikit-learn and scipy, and what they say where nothing can be said."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from potato.schemes import Kind
from potato.training.results.scores import Scored, score

LABELS = ["negative", "neutral", "positive"]
PAIRS = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=40)


def _rows(pairs: list[tuple[Any, Any]]) -> list[Scored]:
    return [Scored(target, payload) for target, payload in pairs]


def _test(kind: Kind, pairs: list[tuple[Any, Any]], labels: list[str] = LABELS) -> dict[str, Any]:
    found = score(kind, labels, test=_rows(pairs), train_targets=[target for target, _ in pairs])
    json.dumps(found, allow_nan=False)
    figures: dict[str, Any] = found["test"]
    return figures


def _or_none(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _same(found: dict[str, Any], expected: dict[str, float]) -> None:
    assert {name: found[name] for name in expected} == {
        name: None if (number := _or_none(value)) is None else pytest.approx(number, abs=1e-9)
        for name, value in expected.items()
    }


@given(PAIRS)
def test_nominal_figures_equal_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    human, model = zip(*pairs, strict=True)
    given_labels = [label for label in LABELS if label in human]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappa = metrics.cohen_kappa_score(human, model)
    _same(
        _test(Kind.NOMINAL, pairs),
        {
            "accuracy": metrics.accuracy_score(human, model),
            "macro_f1": metrics.f1_score(human, model, labels=given_labels, average="macro"),
            "kappa": kappa,
        },
    )


@given(PAIRS)
def test_the_class_table_and_matrix_equal_scikit_learn(pairs: list[tuple[str, str]]) -> None:
    human, model = zip(*pairs, strict=True)
    found = _test(Kind.NOMINAL, pairs)
    names = found["confusion"]["labels"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matrix = metrics.confusion_matrix(human, model, labels=names).tolist()
    assert found["confusion"]["matrix"] == matrix
    for name, row in found["per_class"].items():
        expected = metrics.precision_recall_fscore_support(
            human, model, labels=[name], average=None, zero_division=np.nan
        )
        assert row["support"] == expected[3][0]
        if row["support"]:
            precision, recall, f1 = (float(column[0]) for column in expected[:3])
            _same(row, {"precision": precision, "recall": recall, "f1": f1})


def test_annotation_39_a_class_without_a_held_out_item_is_unknown_not_zero() -> None:
    found = score(
        Kind.NOMINAL,
        LABELS,
        test=_rows([("negative", "negative"), ("positive", "neutral")]),
        train_targets=["negative", "neutral", "positive"],
    )
    assert found["test"]["per_class"]["neutral"] == {"precision": None, "recall": None, "f1": None, "support": 0}
    assert found["test"]["per_class"]["positive"]["precision"] is None
    assert found["test"]["macro_f1"] == pytest.approx(0.5)


def test_a_label_that_nobody_used_is_not_in_the_tables() -> None:
    found = _test(Kind.NOMINAL, [("negative", "negative"), ("positive", "negative")])
    assert found["confusion"]["labels"] == ["negative", "positive"]


def test_labels_stand_in_the_project_s_order_and_strangers_behind() -> None:
    found = _test(Kind.NOMINAL, [("positive", "negative"), ("gone", "positive")])
    assert found["confusion"]["labels"] == ["negative", "positive", "gone"]


def test_annotation_43_nothing_held_out_is_no_score() -> None:
    for kind in Kind:
        found = score(kind, LABELS, test=[], val=[], train_targets=[])
        assert found["test"] == {"n": 0} and found["val"] == {"n": 0}
        assert found["primary"]["value"] is None and found["primary"]["reason"] == "no held-out item"
        assert found["primary"]["interval"] is None and found["baseline"] is None
        assert found["agreement"]["alpha"] is None


def test_the_primary_figure_is_of_the_test_split() -> None:
    found = score(
        Kind.NOMINAL, LABELS, test=_rows([("positive", "positive")] * 3), val=_rows([("positive", "negative")] * 3)
    )
    primary = found["primary"]
    assert (primary["name"], primary["split"], primary["value"], primary["better"]) == (
        "macro_f1",
        "test",
        1.0,
        "higher",
    )
    assert found["val"]["accuracy"] == 0.0


def test_kappa_of_one_label_throughout_is_undefined_with_a_reason() -> None:
    found = _test(Kind.NOMINAL, [("positive", "positive")] * 4)
    assert found["kappa"] is None
    assert found["reasons"]["kappa"] == "humans and model gave one and the same label throughout"


def test_the_baseline_answers_the_most_frequent_training_label() -> None:
    rows = _rows(
        [("negative", "negative"), ("positive", "negative"), ("positive", "positive"), ("positive", "positive")]
    )
    found = score(Kind.NOMINAL, LABELS, test=rows, train_targets=["negative", "negative", "positive"])
    assert found["baseline"] == {
        "name": "majority class 'negative'",
        "accuracy": 0.25,
        "macro_f1": pytest.approx(0.2),
    }


def test_the_interval_is_the_percentile_bootstrap_s() -> None:
    random = np.random.default_rng(7)
    human = random.choice(LABELS, 150)
    model = np.where(random.random(150) < 0.7, human, random.choice(LABELS, 150))
    found = _test(Kind.NOMINAL, list(zip(human.tolist(), model.tolist(), strict=True)))
    resampled = []
    for _ in range(1000):
        chosen = random.integers(0, 150, 150)
        resampled.append(metrics.f1_score(human[chosen], model[chosen], average="macro"))
    assert found["intervals"]["macro_f1"] == pytest.approx(np.percentile(resampled, [2.5, 97.5]), abs=0.02)
    low, high = found["intervals"]["accuracy"]
    assert low < found["accuracy"] < high


def test_the_same_seed_gives_the_same_interval_and_another_one_another() -> None:
    rows = _rows([("positive", "positive"), ("negative", "positive"), ("negative", "negative")] * 10)
    first, again, other = (
        score(Kind.NOMINAL, LABELS, test=rows, seed=seed)["primary"]["interval"] for seed in (1, 1, 2)
    )
    assert first == again != other


def test_all_right_has_an_exact_interval_for_accuracy_and_a_reason_for_the_rest() -> None:
    found = _test(Kind.NOMINAL, [("positive", "positive"), ("negative", "negative")] * 5)
    exact = stats.binomtest(10, 10).proportion_ci(0.95, "exact")
    assert found["intervals"]["accuracy"] == pytest.approx([exact.low, exact.high])
    assert found["intervals"]["macro_f1"] is None
    assert found["reasons"]["interval"] == "every resample of the held-out items scores the same"


def test_all_wrong_has_an_exact_interval_too() -> None:
    found = _test(Kind.NOMINAL, [("positive", "negative")] * 8)
    exact = stats.binomtest(0, 8).proportion_ci(0.95, "exact")
    assert found["intervals"]["accuracy"] == pytest.approx([exact.low, exact.high])


def test_one_held_out_item_has_no_bootstrap_interval() -> None:
    found = _test(Kind.NOMINAL, [("positive", "positive")])
    assert found["intervals"]["macro_f1"] is None
    assert found["reasons"]["interval"] == "one held-out item is too few for an interval"


def test_the_agreement_is_of_the_test_items_with_two_or_more_annotators() -> None:
    votes = [[["positive", 2]], [["positive", 1], ["negative", 1]], [["negative", 1]]]
    rows = [Scored("positive", "positive", votes=pairs) for pairs in votes]
    agreement = score(Kind.NOMINAL, LABELS, test=rows)["agreement"]
    assert agreement == {
        "alpha": pytest.approx(0.0),
        "raw": 0.5,
        "items": 2,
        "level": "nominal",
        "reason": None,
    }


CHOICES = st.lists(st.sampled_from(["a", "b", "c"]), unique=True)


@given(st.lists(st.tuples(CHOICES, CHOICES), min_size=1, max_size=30))
def test_multilabel_figures_equal_scikit_learn(pairs: list[tuple[list[str], list[str]]]) -> None:
    labels = ["a", "b", "c"]
    human, model = (
        np.array([[name in side for name in labels] for side in column]) for column in zip(*pairs, strict=True)
    )
    held = [place for place in range(3) if human[:, place].any()]
    micro = metrics.f1_score(human, model, average="micro", zero_division=np.nan)
    macro = metrics.f1_score(human[:, held], model[:, held], average="macro") if held else np.nan
    found = _test(Kind.MULTILABEL, pairs, labels)
    if len(held) == 1:
        macro = metrics.f1_score(human[:, held[0]], model[:, held[0]])
    _same(found, {"micro_f1": micro, "macro_f1": macro, "exact_match": metrics.accuracy_score(human, model)})
    for name, row in found["per_label"].items():
        assert row["support"] == human[:, labels.index(name)].sum()
        assert (row["f1"] is None) == (row["support"] == 0)


def test_the_multilabel_baseline_has_the_labels_that_most_items_have() -> None:
    rows = _rows([(["a"], ["a"]), (["a", "b"], ["b"])])
    found = score(Kind.MULTILABEL, ["a", "b"], test=rows, train_targets=[["a"], ["a", "b"], []])
    assert found["baseline"]["name"] == "the labels that most training items have: 'a'"
    assert found["baseline"]["exact_match"] == 0.5
    assert score(Kind.MULTILABEL, ["a"], test=rows, train_targets=[[], []])["baseline"]["name"].endswith(": none")


def test_annotation_42_items_without_any_label_are_right_when_the_model_says_none() -> None:
    found = _test(Kind.MULTILABEL, [([], []), ([], []), (["a"], [])], ["a"])
    assert found["exact_match"] == pytest.approx(2 / 3) and found["micro_f1"] == 0.0
    assert _test(Kind.MULTILABEL, [([], [])], ["a"])["reasons"]["micro_f1"] == "neither humans nor model gave any label"


POINTS = st.integers(1, 5)


@given(st.lists(st.tuples(POINTS, POINTS), min_size=1, max_size=40))
def test_ordinal_figures_equal_scikit_learn_and_scipy(pairs: list[tuple[int, int]]) -> None:
    human, model = (np.array(column) for column in zip(*pairs, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappa = metrics.cohen_kappa_score(human, model, labels=range(1, 6), weights="quadratic")
        rank = stats.spearmanr(human, model).statistic if len(pairs) > 1 else np.nan
    found = _test(Kind.ORDINAL, pairs, list("12345"))
    _same(
        found,
        {
            "mae": metrics.mean_absolute_error(human, model),
            "rmse": metrics.root_mean_squared_error(human, model),
            "quadratic_kappa": kappa,
            "spearman": rank,
        },
    )
    assert found["confusion"]["matrix"] == metrics.confusion_matrix(human, model, labels=range(1, 6)).tolist()


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=2, max_size=40))
def test_continuous_figures_equal_scikit_learn(pairs: list[tuple[float, float]]) -> None:
    human, model = (np.array(column) for column in zip(*pairs, strict=True))
    found = _test(Kind.CONTINUOUS, pairs, [])
    _same(
        found,
        {
            "mae": metrics.mean_absolute_error(human, model),
            "rmse": metrics.root_mean_squared_error(human, model),
        },
    )
    assert "quadratic_kappa" not in found


def test_the_mean_is_the_baseline_of_numbers_and_less_is_better() -> None:
    found = score(Kind.ORDINAL, list("12345"), test=_rows([(1, 1), (5, 4)]), train_targets=[2, 4])
    assert found["baseline"] == {"name": "mean of the training labels, 3", "mae": 2.0, "rmse": 2.0}
    assert (found["primary"]["name"], found["primary"]["value"], found["primary"]["better"]) == ("mae", 0.5, "lower")
    assert found["agreement"]["level"] == "ordinal"


def test_a_constant_model_has_no_rank_correlation() -> None:
    found = _test(Kind.CONTINUOUS, [(1.0, 2.0), (3.0, 2.0)], [])
    assert found["spearman"] is None and found["reasons"]["spearman"] == "one side gave the same number throughout"


def test_many_distinct_numbers_are_resampled_in_pieces() -> None:
    random = np.random.default_rng(0)
    human = random.normal(size=20_000)
    found = _test(
        Kind.CONTINUOUS, list(zip(human.tolist(), (human + random.normal(size=20_000)).tolist(), strict=True)), []
    )
    low, high = found["intervals"]["mae"]
    error = np.sqrt(2 / np.pi)
    assert (
        low < found["mae"] < high and low == pytest.approx(error, abs=0.03) and high == pytest.approx(error, abs=0.03)
    )


def test_which_of_two_is_scored_by_accuracy_with_the_usual_side_as_the_yardstick() -> None:
    rows = _rows([("a", "a"), ("b", "a"), ("tie", "tie"), ("b", "b")])
    found = score(Kind.PAIRWISE, ["a", "b", "tie"], test=rows, train_targets=["b", "b", "a"])
    assert (found["primary"]["name"], found["primary"]["value"]) == ("accuracy", 0.75)
    assert found["primary"]["interval"][0] < 0.75 < found["primary"]["interval"][1]
    assert (found["baseline"]["name"], found["baseline"]["accuracy"]) == ("majority class 'b'", 0.5)
    assert found["test"]["confusion"]["matrix"][1] == [1, 1, 0]


# human, model, and the figure that sacrebleu 2.6.0 gives for chrF2 of the two
CHRF = [
    ("the cat sat", "the cat sat on the mat", 0.7973855444246795),
    ("abc", "abd", 0.38888888888888884),
    ("ab", "ab", 1.0),
    ("x", "", 0.0),
    ("\u00e9t\u00e9", "ete", 1 / 9),
]


@pytest.mark.parametrize(("human", "model", "wanted"), CHRF)
def test_written_answers_are_scored_by_exact_match_and_chrf(human: str, model: str, wanted: float) -> None:
    found = score(Kind.TEXT, [], test=_rows([(human, model)]), train_targets=["ab", "ab", "x"])
    assert found["primary"]["name"] == "chrf"
    assert found["test"]["chrf"] == pytest.approx(wanted)
    assert found["test"]["exact_match"] == float(human == model)
    assert found["test"]["reasons"] == {"interval": "one held-out item is too few for an interval"}
    assert found["baseline"]["name"] == "the most frequent training answer"
    assert found["baseline"]["exact_match"] == float(human == "ab")


def test_chrf_of_many_answers_counts_their_runs_together_and_has_an_interval() -> None:
    rows = _rows([("the cat sat", "the cat sat on the mat"), ("a dog", "a dog"), ("so it is", "so it was ")])
    found = score(Kind.TEXT, [], test=rows)
    low, high = found["primary"]["interval"]
    assert low < found["test"]["chrf"] < high
    assert found["test"]["exact_match"] == pytest.approx(1 / 3)
