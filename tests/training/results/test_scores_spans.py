"""Held-out scores of predicted spans."""

from __future__ import annotations

from typing import Any

import pytest

from potato.schemes import Kind
from potato.training.results.scores import score
from potato.training.results.scores_row import Scored
from potato.training.results.scores_spans import drawn

TEXT = "Ann met Bob in Rome. Ann left Rome."


def span(text: str, label: str, at: int = 0) -> dict[str, Any]:
    start = TEXT.index(text, at)
    return {"start": start, "end": start + len(text), "label": label, "text": text}


HUMAN = [span("Ann", "person"), span("Bob", "person"), span("Rome", "place")]
MODEL = [span("Ann", "person"), span("Bob", "place"), span("Rome", "place"), span("Rome", "place", 18)]


def row(human: list[Any], model: list[Any], *votes: list[Any]) -> Scored:
    return Scored(human, model, votes=[[vote, 1] for vote in votes], text=TEXT)


def test_entities_count_with_exact_boundaries_and_label() -> None:
    scored = score(Kind.SPAN, ["person", "place"], test=[row(HUMAN, MODEL), row([], []), row(HUMAN, HUMAN)])
    test = scored["test"]
    assert scored["primary"]["name"] == "entity_f1"
    assert test["entity_precision"] == pytest.approx(5 / 7)
    assert test["entity_recall"] == pytest.approx(5 / 6)
    assert scored["primary"]["value"] == test["entity_f1"] == pytest.approx(2 * 5 / 13)
    assert test["exact_match"] == pytest.approx(2 / 3)
    assert test["per_label"]["person"] == {
        "precision": 1.0,
        "recall": pytest.approx(3 / 4),
        "f1": pytest.approx(6 / 7),
        "support": 4,
    }
    low, high = scored["primary"]["interval"]
    assert low < test["entity_f1"] < high


def test_nothing_said_is_undefined_and_not_zero() -> None:
    silent = score(Kind.SPAN, ["person", "place"], test=[row(HUMAN, []), row(HUMAN, [])])
    assert silent["test"]["entity_precision"] is None
    assert silent["test"]["reasons"]["entity_precision"] == "the model marked nothing"
    assert silent["test"]["entity_f1"] == 0
    empty = score(Kind.SPAN, ["person"], test=[row([], []), row([], [])])
    assert empty["primary"]["value"] is None
    assert empty["primary"]["reason"] == "neither humans nor model marked anything"
    for judged_by, reason in (
        ("entity_precision", "the model marked nothing"),
        ("entity_recall", "no held-out item has a span"),
    ):
        judged = score(Kind.SPAN, ["person"], test=[row([], []), row([], [])], judged_by=judged_by)
        assert (judged["primary"]["value"], judged["primary"]["reason"]) == (None, reason)


def test_the_yardstick_looks_up_the_training_spans() -> None:
    train = [[span("Ann", "person")], [span("Rome", "place")], [span("me", "person")]]
    scored = score(Kind.SPAN, ["person", "place"], test=[row(HUMAN, MODEL)], train_targets=train)
    # both Ann and both Rome are found, "me" within "Rome" is not; of three human spans two are right
    assert scored["baseline"]["entity_precision"] == pytest.approx(2 / 4)
    assert scored["baseline"]["entity_recall"] == pytest.approx(2 / 3)


def test_annotators_agreement_stands_beside_it() -> None:
    agreement = score(Kind.SPAN, ["person"], test=[row(HUMAN, MODEL, HUMAN, HUMAN[:2])])["agreement"]
    assert agreement["level"] == "spans"
    assert agreement["raw"] == pytest.approx(2 * 2 / 5)
    assert 0.5 < agreement["alpha"] < 1


def test_resamples_draw_the_same_figure() -> None:
    import numpy as np

    pairs = [(HUMAN, MODEL), ([], []), (HUMAN, HUMAN)]
    assert drawn(pairs)(np.ones((1, 3)))["entity_f1"][0] == pytest.approx(2 * 5 / 13)
