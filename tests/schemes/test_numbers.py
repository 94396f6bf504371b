"""`number` and `slider`: which numbers are answers, and how they are kept."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from potato.schemes import WHOLE, AnyScheme, InvalidAnswer, Kind, Scheme
from potato.schemes.keys import assign


def _scheme(kind: str = "number", **config: Any) -> Scheme:
    settings = {"annotation_type": kind, "name": "n", "description": "How much?", **config}
    made: Scheme = TypeAdapter(AnyScheme).validate_python(settings)
    return made


@pytest.mark.parametrize(("raw", "kept"), [(0, 0), (-0.0, 0), (3, 3), (3.0, 3), (-2.5, -2.5), (1e15, 10**15)])
def test_a_number_is_kept_as_it_is_and_0_is_one(raw: Any, kept: Any) -> None:
    answer = _scheme().parse(raw)
    assert (answer, type(answer)) == (kept, type(kept))


@pytest.mark.parametrize("raw", ["3", "", None, True, [3], float("nan"), float("inf"), 10**400, 1e16])
def test_what_is_no_number_is_refused(raw: Any) -> None:
    with pytest.raises(InvalidAnswer, match="is not a number; 'n' takes numbers"):
        _scheme().parse(raw)


@pytest.mark.parametrize("raw", [1000, -1, 50.5])
def test_a_slider_that_leaves_its_ends_out_says_what_it_takes(raw: Any) -> None:
    with pytest.raises(InvalidAnswer, match="it takes whole numbers from 0 up to 100"):
        _scheme("slider").parse(raw)


def test_steps_count_from_the_minimum_without_the_noise_of_binary_fractions() -> None:
    tenths = _scheme(min=0.1, max=1, step=0.1)
    assert [tenths.parse(raw) for raw in (0.1 + 0.2, 0.7000000000000001, 1)] == [0.3, 0.7, 1]
    for raw in (0.35, 0.05, 1.1, 0):
        with pytest.raises(InvalidAnswer, match=r"it takes numbers from 0.1 up to 1 in steps of 0.1"):
            tenths.parse(raw)


def test_the_sentence_says_which_numbers_are_taken() -> None:
    with pytest.raises(InvalidAnswer) as refused:
        _scheme(min=0, max=120, step=1).parse(121)
    assert refused.value.message == "121 is not taken by 'n'; it takes whole numbers from 0 up to 120"


@pytest.mark.parametrize(("said", "answer"), [(3.4127, 3.5), (-8.2, 0), (99.0, 10), (9.9, 10), (0.2, 0)])
def test_what_a_model_says_becomes_the_nearest_number_that_is_taken(said: float, answer: float) -> None:
    assert _scheme("slider", min=0, max=10, step=0.5).prediction_answer(said) == answer


def test_a_slider_that_is_left_as_it_comes_refuses_too() -> None:
    for raw in ("a label", 100.5, 101):
        with pytest.raises(InvalidAnswer, match="takes whole numbers from 0 up to 100"):
            _scheme("slider").parse(raw)


def test_the_end_of_a_line_that_no_step_meets_is_no_answer() -> None:
    thirds = _scheme("slider", min=0, max=10, step=3)
    assert thirds.prediction_answer(10) == thirds.parse(9) == 9
    with pytest.raises(InvalidAnswer):
        thirds.parse(10)


def test_a_model_that_says_no_number_is_refused() -> None:
    _scheme().check_prediction(1e9)
    with pytest.raises(InvalidAnswer, match="'a lot' is not a number"):
        _scheme().check_prediction("a lot")


def test_both_are_continuous_and_have_one_key_to_their_field() -> None:
    assert _scheme().kind is _scheme("slider").kind is Kind.CONTINUOUS
    assert assign([_scheme("slider")]) == {"n": {WHOLE: "1"}}
