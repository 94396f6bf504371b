"""Scores, plots and gates in the words and numbers of the pages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import training_scenes as scenes
from potato.schemes import Kind
from potato.training.results.scores import Scored, score
from potato.training.web import figures, gates, plots
from potato.training.web.plots import Score
from potato.training.web.views import histories


def test_the_primary_figure_comes_first_with_its_interval_baseline_and_val() -> None:
    scored = scenes.nominal(0.8, 150)
    first = figures.figures(scored)[0]
    assert (first.name, first.primary, first.lower_is_better) == ("macro_f1", True, False)
    assert first.value == scored["test"]["macro_f1"]
    assert first.baseline == scored["baseline"]["macro_f1"]
    assert first.val == scored["val"]["macro_f1"]
    assert first.interval == tuple(scored["primary"]["interval"])


def test_runs_that_were_judged_by_unlike_figures_are_drawn_by_that_of_the_newest() -> None:
    older, newest = scenes.succeeded(1), scenes.succeeded(2)
    scored = newest.scores["sentiment"]
    scored = {**scored, "primary": {**scored["primary"], "name": "accuracy", "value": scored["test"]["accuracy"]}}
    [history] = histories([replace(newest, scores={"sentiment": scored}), older])
    assert history["title"] == "Accuracy"
    assert [point.value for point in history["scores"]] == [
        run.scores["sentiment"]["test"]["accuracy"] for run in (newest, older)
    ]
    assert history["scores"][1].low == older.scores["sentiment"]["test"]["intervals"]["accuracy"][0]
    assert history["scores"][1].baseline == older.scores["sentiment"]["baseline"]["accuracy"]


@pytest.mark.parametrize(("value", "axis"), [(1.0, ("0.96", "1")), (0.0, ("0", "0.04")), (0.5, ("0.46", "0.5"))])
def test_a_curve_of_equal_scores_lies_level_on_an_axis_that_scores_can_have(
    value: float, axis: tuple[str, str]
) -> None:
    points = [plots.CurvePoint(f"r{n}", n / 4, 10 * n, value, None, None) for n in (1, 2, 3, 4)]
    drawn = plots.learning_curve(points)
    assert drawn is not None
    assert (drawn.y_ticks[0].text, drawn.y_ticks[-1].text) == axis
    assert len({dot.y for dot in drawn.dots}) == 1


def test_an_undefined_figure_is_none_and_never_nought() -> None:
    scored = score(Kind.NOMINAL, scenes.LABELS, test=[], train_targets=["positive"])
    assert figures.figures(scored) == []
    assert figures.primary_value({"sentiment": scored}, "sentiment") is None
    assert figures.confusion(scored) is None


def test_a_multilabel_score_has_a_row_for_each_label() -> None:
    rows = [Scored(["food"], ["food"]), Scored([], ["room"])] * 4
    scored = score(Kind.MULTILABEL, ["food", "room"], test=rows, train_targets=[["food"]])
    assert [row.label for row in figures.per_class(scored)] == ["food", "room"]


def test_an_error_of_an_ordinal_scheme_is_better_when_lower() -> None:
    scored = score(Kind.ORDINAL, list("12345"), test=[Scored(3, 4), Scored(2, 2)] * 5, train_targets=[2, 3])
    first = figures.figures(scored)[0]
    assert (first.name, first.lower_is_better) == ("mae", True)
    strip = plots.strip(first)
    assert strip is not None
    assert strip.value == pytest.approx(100 * first.value / strip.scale_end, abs=0.01)


def test_the_rows_of_a_confusion_matrix_are_shaded_by_their_share() -> None:
    table = {"labels": ["a", "b"], "matrix": [[9, 1], [0, 0]]}
    matrix = figures.confusion({"test": {"confusion": table}})
    assert matrix is not None
    [(label, total, cells), (_, nothing, empty)] = matrix.rows
    assert (label, total, [cell.heat for cell in cells]) == ("a", 10, [9, 1])
    assert (nothing, [cell.share for cell in empty]) == (0, [0.0, 0.0])
    assert cells[1].title == "1 of 10 items that people called 'a', the model called 'b'"


def test_agreement_is_a_sentence_or_the_reason_why_it_is_undefined() -> None:
    known = {"agreement": {"alpha": 0.61, "raw": 0.8, "items": 120, "reason": None}}
    assert "80.0% of pairs (Krippendorff's alpha 0.610) on the 120 held-out items" in figures.agreement_sentence(known)
    unknown = {"agreement": {"alpha": None, "raw": None, "items": 0, "reason": "no item has two or more answers"}}
    assert figures.agreement_sentence(unknown) == "Annotators' agreement: undefined (no item has two or more answers)"


def test_history_keeps_runs_within_the_plot_and_in_order_of_time() -> None:
    scores = [Score(f"r{n}", "t", f"2026-11-{20 - n}", 50 * n + 10, 0.5 + n / 20, None, None, None) for n in range(5)]
    by_time, by_labels = plots.by_time(scores), plots.by_labels(scores)
    assert by_time is not None
    assert by_labels is not None
    assert [dot.run_id for dot in by_time.dots] == ["r4", "r3", "r2", "r1", "r0"]
    for dot in (*by_time.dots, *by_labels.dots):
        assert 0 <= dot.x <= plots.WIDTH
        assert 0 <= dot.y <= plots.HEIGHT
    assert plots.by_time([]) is None
    assert plots.by_labels([]) is None


@pytest.mark.parametrize(("value", "ceiling"), [(0, 1), (0.7, 1), (1.2, 2), (2.2, 2.5), (3, 5), (730, 1000)])
def test_scales_end_at_a_round_number(value: float, ceiling: float) -> None:
    assert plots.nice_ceiling(value) == pytest.approx(ceiling)


def test_gates_come_in_the_order_in_which_they_ask(tmp_path: Path) -> None:
    skipped = {"low_confidence": 3, "train_split": 2, "a_new_gate": 1}
    report = gates.report({"read": 10, "written": 4, "skipped": skipped}, scenes.project(tmp_path))
    assert report is not None
    assert [gate.name for gate in report.gates] == ["train_split", "low_confidence", "a_new_gate"]
    assert report.skipped == 6
    assert report.gates[1].sentence == "less sure than min_confidence (0.6)"
    assert gates.report(None, scenes.project(tmp_path)) is None


def test_a_figure_below_nought_is_drawn_below_it() -> None:
    scores = [
        Score(f"r{n}", "t", f"2026-11-1{n}", 50, value, None, None, None) for n, value in enumerate((-0.3, 0, 0.8))
    ]
    drawn = plots.by_time(scores)
    assert drawn is not None
    assert [dot.y for dot in drawn.dots] == sorted({dot.y for dot in drawn.dots}, reverse=True)
    assert [tick.text for tick in drawn.y_ticks] == ["-0.5", "0", "0.5", "1"]
    assert drawn.dots[1].y == drawn.y_ticks[1].at
    figure = figures.Figure("kappa", "Cohen's kappa", -0.3, (-0.4, 0.1), 0.0, None, True, False)
    strip = plots.strip(figure)
    assert strip is not None
    assert (strip.scale_start, strip.scale_end) == (-0.5, 1.0)
    assert strip.low is not None and strip.baseline is not None
    assert 0 < strip.low < strip.value < strip.baseline == pytest.approx(100 / 3, abs=0.01)


def test_a_run_of_several_schemes_counts_the_labels_of_each() -> None:
    run = scenes.succeeded(1)
    both = replace(run, schemas=["sentiment", "mood"], counts={"train": 150})
    assert figures.labels_of(replace(run, counts={"train": 150}), "sentiment") == 150
    assert figures.labels_of(both, "sentiment") is None
    told = replace(both, scores={"sentiment": {**run.scores["sentiment"], "trained_on": 17}})
    assert figures.labels_of(told, "sentiment") == 17
    [history] = histories([told, both])
    assert [score.labels for score in history["scores"]] == [17, None]
    assert [dot.run_id for dot in history["by_labels"].dots] == [told.run_id]
    assert "17 labels" in history["by_labels"].dots[0].title
