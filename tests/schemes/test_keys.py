"""Which key chooses which label."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from potato.schemes import WHOLE, AnyScheme, Scheme
from potato.schemes.base import MANY_LABELS
from potato.schemes.keys import FIND_KEY, RESERVED_KEYS, assign, reserved


def _radio(name: str, labels: list[Any]) -> Scheme:
    return _scheme(annotation_type="radio", name=name, description="?", labels=labels)


def _scheme(**config: Any) -> Scheme:
    made: Scheme = TypeAdapter(AnyScheme).validate_python(config)
    return made


def test_the_first_question_gets_the_numbers() -> None:
    assert assign([_radio("a", ["x", "y"])]) == {"a": {"x": "1", "y": "2"}}


def test_a_question_that_does_not_fit_beside_the_others_gets_a_row_of_its_own() -> None:
    likert = _scheme(annotation_type="likert", name="b", description="?", size=7)
    keys = assign([_radio("a", ["x", "y", "z", "u"]), likert])
    assert list(keys["b"].values()) == list("qwertyu")


def test_none_of_these_has_a_key_too() -> None:
    multi = _scheme(annotation_type="multiselect", name="a", description="?", labels=["x", "y"])
    assert assign([multi])["a"] == {"x": "1", "y": "2", WHOLE: "3"}


def test_keys_of_the_project_file_come_first_and_are_not_given_again() -> None:
    keys = assign([_radio("a", ["x", {"name": "y", "key": "1"}]), _radio("b", ["u", {"name": "v", "key": "Q"}])])
    assert keys == {"a": {"y": "1", "x": "2"}, "b": {"v": "Q", "u": "3"}}


def test_many_labels_have_a_key_that_finds_one() -> None:
    few, many = (_radio("a", [f"label {n}" for n in range(count)]) for count in (MANY_LABELS, MANY_LABELS + 1))
    assert FIND_KEY not in reserved([few])
    assert FIND_KEY in reserved([few, many])


def test_forty_labels_get_no_reserved_key_and_none_twice() -> None:
    """annotation 23"""
    given = list(assign([_radio("a", [f"label {n}" for n in range(40)])])["a"].values())
    assert len(given) == len(set(given)) == 32
    assert not set(given) & RESERVED_KEYS
