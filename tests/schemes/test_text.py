"""`text`: what is written is the answer."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from potato.schemes import AnyScheme, InvalidAnswer, Scheme


def _scheme(**config: Any) -> Scheme:
    settings = {"annotation_type": "text", "name": "why", "description": "Why?", **config}
    made: Scheme = TypeAdapter(AnyScheme).validate_python(settings)
    return made


@pytest.mark.parametrize(
    ("raw", "kept"),
    [("so", "so"), ("  so \n", "so"), ("a\r\nb\rc", "a\nb\nc"), ("a  b\tc", "a  b\tc"), ("\U0001f4a9", "\U0001f4a9")],
)
def test_a_text_is_kept_without_the_space_around_it(raw: str, kept: str) -> None:
    assert _scheme().parse(raw) == kept
    assert _scheme().parse(kept) == kept


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("", "an empty text is no answer to 'why'"),
        (" \n ", "an empty text is no answer to 'why'"),
        (3, "an answer to 'why' is a text, not 3"),
        (None, "an answer to 'why' is a text, not None"),
        ("x", "1 characters are too few, and 2 needed, for 'why'"),
        ("\U0001f4a9" * 6, "6 characters are too many, and 5 the most, for 'why'"),
        ("a\0b", "there is a character that cannot be stored in an answer to 'why'"),
        ("a\ud83d", "there is a character that cannot be stored in an answer to 'why'"),
    ],
)
def test_what_is_no_answer_is_refused_in_words(raw: Any, said: str) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        _scheme(min_length=2, max_length=5).parse(raw)
    assert refused.value.message.startswith(said)


def test_characters_are_counted_as_people_count_them_not_as_utf_16() -> None:
    assert _scheme(max_length=5).parse("\U0001f4a9" * 5)


def test_a_field_of_one_line_takes_one_line() -> None:
    with pytest.raises(InvalidAnswer, match="only one line is taken by 'why'"):
        _scheme(multiline=False).parse("a\nb")


def test_a_model_may_write_what_is_no_answer_and_then_it_is_scored_but_not_suggested() -> None:
    scheme = _scheme(max_length=5)
    scheme.check_prediction("")
    scheme.check_prediction("much too long")
    with pytest.raises(InvalidAnswer):
        scheme.prediction_answer("")
    with pytest.raises(InvalidAnswer):
        scheme.check_prediction(7)
