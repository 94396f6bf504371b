"""`pairwise`: which of two is better, however they stand."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from potato.schemes import AnyScheme, InvalidAnswer, Scheme


def _scheme(**config: Any) -> Scheme:
    settings = {"annotation_type": "pairwise", "name": "better", "description": "Which is better?", **config}
    made: Scheme = TypeAdapter(AnyScheme).validate_python(settings)
    return made


def test_an_answer_names_a_side_of_the_item_or_a_tie() -> None:
    assert [_scheme().parse(answer) for answer in ("a", "b", "tie")] == ["a", "b", "tie"]
    for raw in ("A", "first", 1, None, ["a"]):
        with pytest.raises(InvalidAnswer, match="is no answer to 'better'; it takes a, b, tie"):
            _scheme().parse(raw)


def test_a_project_may_want_no_ties() -> None:
    with pytest.raises(InvalidAnswer, match=r"it takes a, b$"):
        _scheme(allow_tie=False).parse("tie")


def test_the_order_is_the_same_each_time_and_even_over_people_items_and_questions() -> None:
    scheme = _scheme()
    orders = {(who, n): scheme.shown_as(who, f"i{n}") for who in ("ann", "bob") for n in range(500)}
    assert orders == {(who, n): _scheme().shown_as(who, f"i{n}") for who, n in orders}
    assert all(sorted(order) == ["a", "b"] for order in orders.values())
    for who in ("ann", "bob"):
        first = sum(orders[who, n][0] == "a" for n in range(500))
        assert 200 < first < 300
    same = sum(orders["ann", n] == orders["bob", n] for n in range(500))
    assert 200 < same < 300  # one person's order tells nothing of another's
    other = _scheme(name="nicer")
    assert 200 < sum(orders["ann", n] == other.shown_as("ann", f"i{n}") for n in range(500)) < 300


def test_an_answer_is_said_by_the_place_where_it_stood() -> None:
    scheme = _scheme()
    assert [scheme.said(answer, ["b", "a"]) for answer in ("a", "b", "tie")] == ["the second", "the first", "a tie"]
    assert scheme.said("a") == "a"
