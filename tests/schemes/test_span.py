"""What `span` takes, and with which words it refuses the rest."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from potato.schemes import WHOLE, AnyScheme, InvalidAnswer, Scheme
from potato.schemes.asked import missing
from potato.schemes.keys import assign

TEXT = "\U0001f4a9 ab \U0001f469\u200d\u2764\ufe0f\u200d\U0001f469 cd e\u0301 \U0001d518 end"


def scheme(**more: Any) -> Scheme:
    config = {"annotation_type": "span", "name": "who", "description": "Who?", "labels": ["person", "place"], **more}
    made: Scheme = TypeAdapter(AnyScheme).validate_python(config)
    return made


def span(start: int, end: int, label: str = "person", text: str | None = None) -> dict[str, Any]:
    return {"start": start, "end": end, "label": label, "text": TEXT[start:end] if text is None else text}


def test_an_answer_is_in_the_order_of_the_text_and_says_nothing_twice() -> None:
    given = [span(2, 4, "place"), span(2, 4), span(0, 4), span(2, 4, "place"), span(2, 3)]
    assert scheme().parse(given) == [span(0, 4), span(2, 3), span(2, 4), span(2, 4, "place")]
    assert scheme().parse([]) == []


def test_offsets_count_code_points_of_exactly_the_text() -> None:
    """annotation 16"""
    answer = [span(len(TEXT) - 3, len(TEXT))]
    assert answer[0] == {"start": 20, "end": 23, "label": "person", "text": "end"}
    scheme().check(scheme().parse(answer), TEXT)
    in_utf16 = [span(25, 28, text="end")]
    with pytest.raises(InvalidAnswer, match="goes from 25 to 28, past the end of the text, which has 23 characters"):
        scheme().check(scheme().parse(in_utf16), TEXT)


def test_a_span_that_reads_otherwise_is_refused() -> None:
    """annotation 15: offsets that were counted in a text with its line ends changed."""
    text = "one\r\ntwo  three"
    where = text.replace("\r\n", "\n").index("three")
    moved = [span(where, where + 5, text="three")]
    with pytest.raises(InvalidAnswer, match="from 9 to 14 the text reads ' thre', not 'three'"):
        scheme().check(scheme().parse(moved), text)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("person", "an answer to 'who' is a list of spans"),
        ([{"start": 0, "end": 1, "label": "person"}], "a span of 'who' has start, end, label and text"),
        ([{**span(0, 1), "note": 1}], "and no more"),
        ([span(3, 3)], "begins at a whole number, 0 or more, and ends behind it, not 3 to 3"),
        ([span(-1, 1)], "0 or more"),
        ([{**span(0, 1), "start": True}], "a whole number"),
        ([{**span(0, 1), "end": 1.0}], "a whole number"),
        ([span(0, 1, "thing")], "'thing' is not a label of 'who'; it takes person, place"),
        ([{**span(0, 1), "label": ["person"]}], "is not a label"),
        ([span(0, 2, text="x")], "from 0 to 2 has 2 characters, its text 'x' has not"),
    ],
)
def test_what_is_no_span_is_told(raw: Any, words: str) -> None:
    with pytest.raises(InvalidAnswer) as raised:
        scheme().parse(raw)
    assert words in raised.value.message


def test_old_names_of_labels_are_read_as_the_new_ones() -> None:
    renaming = scheme(label_renames={"human": "person"})
    assert renaming.parse([span(0, 1, "human")]) == [span(0, 1)]
    assert renaming.renamed([span(0, 1, "human"), span(0, 1, "gone")]) == [span(0, 1), span(0, 1, "gone")]
    assert renaming.renamed(["human"]) == ["human"]  # of another type, before


def test_labels_and_nothing_to_mark_have_keys() -> None:
    assert assign([scheme()]) == {"who": {"person": "1", "place": "2", WHOLE: "3"}}


def test_another_question_can_hang_on_a_label() -> None:
    why = scheme(name="why", show_if={"who": "place"})
    both = {"who": scheme(), "why": why}
    assert missing(both, {"who": [span(0, 1)]}) == []
    assert missing(both, {"who": [span(0, 1), span(0, 1, "place")]}) == ["why"]


def test_spans_are_said_in_words() -> None:
    assert scheme().said([span(2, 4), span(20, 23, "place")]) == "\u201cab\u201d (person), \u201cend\u201d (place)"
    assert scheme().said([]) == "nothing to mark"
