"""Which questions are asked, given answers."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from potato.schemes import AnyScheme, Scheme
from potato.schemes.asked import asked, missing, unasked


def _scheme(name: str, **config: Any) -> Scheme:
    settings = {"annotation_type": "radio", "name": name, "description": "?", "labels": ["yes", "no"], **config}
    if settings["annotation_type"] != "radio":
        del settings["labels"]
    made: Scheme = TypeAdapter(AnyScheme).validate_python(settings)
    return made


def _schemes(*made: Scheme) -> dict[str, Scheme]:
    return {scheme.name: scheme for scheme in made}


CHAIN = _schemes(
    _scheme("why", annotation_type="text", show_if={"sure": "no"}),
    _scheme("rude"),
    _scheme("sure", show_if={"rude": "yes"}),
)
"""The last link stands first in the file: the order of questions does not decide."""


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        ({}, {"rude"}),
        ({"rude": "no"}, {"rude"}),
        ({"rude": "yes"}, {"rude", "sure"}),
        ({"rude": "yes", "sure": "no"}, {"rude", "sure", "why"}),
        ({"rude": "no", "sure": "no", "why": "so"}, {"rude"}),
        ({"sure": "no"}, {"rude"}),
    ],
)
def test_a_chain_breaks_at_the_first_question_that_is_not_asked(answers: dict[str, Any], shown: set[str]) -> None:
    assert asked(CHAIN, answers) == shown
    assert unasked(CHAIN, answers) == set(answers) - shown


def test_a_question_that_is_not_asked_is_not_missing_even_where_it_has_an_answer() -> None:
    assert missing(CHAIN, {"rude": "no", "sure": "no"}) == []
    assert missing(CHAIN, {"rude": "yes", "sure": "no"}) == ["why"]
    assert missing(CHAIN, {"sure": "yes"}) == ["rude"]


def test_every_condition_must_hold_and_any_of_its_answers_will_do() -> None:
    both = _schemes(
        _scheme("one"),
        _scheme("many", annotation_type="number"),
        _scheme("q", show_if={"one": "no", "many": ["0", "2.5"]}),
    )
    assert "q" in asked(both, {"one": "no", "many": 0})
    assert "q" in asked(both, {"one": "no", "many": 2.5})
    assert "q" not in asked(both, {"one": "no", "many": 1})
    assert "q" not in asked(both, {"many": 0})
