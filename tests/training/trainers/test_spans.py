"""Between labelled stretches and tags."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from potato.training.contract.bundle import BundleItem, SchemaInfo
from potato.training.contract.predictions import Prediction
from potato.training.trainers.spans import IGNORED, apart, names, spans, tags
from potato.training.trainers.targets import figures

CLASSES = ["person", "place"]
TEXT = "💩 Ann  Lee in Lee-é\u0301 Town"


def span(start: int, end: int, label: str, text: str = TEXT) -> dict[str, Any]:
    return {"start": start, "end": end, "label": label, "text": text[start:end]}


def words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def test_tags_are_named_for_the_library() -> None:
    assert names(CLASSES) == ["O", "B-person", "I-person", "B-place", "I-place"]


def test_spans_over_astral_and_combining_characters_come_back_exactly() -> None:
    """annotation 16"""
    wanted = [span(2, 10, "person"), span(14, 25, "place")]
    found = tags(TEXT, words(TEXT), wanted, CLASSES)
    assert spans(TEXT, words(TEXT), found, [0.9] * len(found), CLASSES) == (wanted, pytest.approx(0.9))


def test_a_control_token_has_no_tag_and_space_belongs_to_no_token() -> None:
    assert tags(" a b", [(0, 0), (0, 2), (2, 4)], [span(1, 2, "person", " a b")], CLASSES) == [IGNORED, 1, 0]
    [found], _ = spans(" a b", [(0, 0), (0, 2), (2, 4)], [3, 1, 2], [1, 1, 1], CLASSES)
    assert found == span(1, 4, "person", " a b")


def test_two_spans_side_by_side_stay_two() -> None:
    text = "Ann Lee"
    wanted = [span(0, 3, "person", text), span(4, 7, "person", text)]
    found = tags(text, words(text), wanted, CLASSES)
    assert found == [1, 1]
    assert spans(text, words(text), found, [1, 1], CLASSES)[0] == wanted


def test_a_piece_of_a_word_goes_with_its_beginning() -> None:
    text = "Annabel, there"
    pieces = [(0, 3), (3, 7), (7, 8), (9, 14)]
    [found], _ = spans(text, pieces, [1, 0, 0, 0], [0.9, 0.5, 0.9, 0.9], CLASSES)
    assert found == span(0, 7, "person", text)
    assert spans(text, pieces, [0, 1, 0, 0], [1, 1, 1, 1], CLASSES)[0] == []


def test_an_inside_without_its_beginning_begins() -> None:
    text = "Ann Lee"
    found, _ = spans(text, words(text), [2, 4], [1, 1], CLASSES)
    assert found == [span(0, 3, "person", text), span(4, 7, "place", text)]


def test_the_confidence_is_of_the_least_sure_span_or_without_one_of_the_least_sure_token() -> None:
    text = "a b c d"
    assert spans(text, words(text), [1, 2, 0, 3], [0.8, 0.6, 0.2, 0.9], CLASSES)[1] == pytest.approx(0.7)
    assert spans(text, words(text), [0, 0, 0, 0], [0.8, 0.6, 0.7, 0.9], CLASSES)[1] == 0.6
    assert spans("", [(0, 0)], [0], [0.1], CLASSES) == ([], 1.0)


def test_of_spans_that_overlap_the_longest_are_tagged() -> None:
    given_ = [span(0, 3, "person"), span(2, 9, "place"), span(12, 14, "person"), span(12, 14, "place")]
    assert apart(given_) == [span(2, 9, "place"), span(12, 14, "person")]


@given(st.text(alphabet="ab 💩é.", max_size=30), st.data())
def test_whole_words_come_back_whatever_the_text(text: str, data: st.DataObject) -> None:
    places = words(text)
    wanted, at = [], 0
    while at < len(places):
        size = data.draw(st.integers(0, 3))
        if size and at + size <= len(places):
            start, end = places[at][0], places[at + size - 1][1]
            wanted.append(span(start, end, data.draw(st.sampled_from(CLASSES)), text))
        at += size + 1
    found = tags(text, places, wanted, CLASSES)
    assert spans(text, places, found, [1.0] * len(found), CLASSES)[0] == wanted


def test_figures_count_exact_spans() -> None:
    schema = SchemaInfo("s", "span", tuple(CLASSES), tuple(CLASSES))
    item = BundleItem("i", TEXT, {}, {}, {"s": [span(2, 10, "person"), span(14, 25, "place")]}, {}, {})
    said = Prediction("i", "s", [span(2, 10, "person"), span(14, 24, "place"), span(0, 1, "place")])
    own = figures([said], [item], schema)
    assert own == {"entity_precision": pytest.approx(1 / 3), "entity_recall": 0.5, "entity_f1": pytest.approx(0.4)}
    assert figures([Prediction("i", "s", [])], [item], schema)["entity_f1"] == 0
