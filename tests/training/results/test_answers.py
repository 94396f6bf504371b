"""The cell that a held-out answer falls into is the one in which its score counts it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from potato.project.models import ProjectFile
from potato.schemes import Kind, Scheme
from potato.store.training.predictions import Rejected
from potato.training.results.answers import cell_of, distance
from potato.training.results.scores import Scored, score


@pytest.mark.parametrize(
    ("kind", "labels", "pairs"),
    [
        (Kind.NOMINAL, ["x", "y"], [("x", "y"), ("x", "x"), ("y", "y")]),
        (Kind.PAIRWISE, ["a", "b", "tie"], [("a", "tie"), ("b", "b")]),
        (Kind.ORDINAL, list("12345"), [(1, 5), (2, 2), (5, 4)]),
        (Kind.MULTILABEL, ["x", "y"], [(["x"], ["y"])]),
        (Kind.CONTINUOUS, [], [(1.5, 2.5)]),
    ],
)
def test_cells_agree_with_the_confusion_matrix(kind: Kind, labels: list[str], pairs: list[tuple[Any, Any]]) -> None:
    scored = score(kind, labels, test=[Scored(*pair) for pair in pairs], train_targets=[pair[0] for pair in pairs])
    table = scored["test"].get("confusion")
    cells = Counter((cell_of(kind, human), cell_of(kind, model)) for human, model in pairs)
    if table is None:
        assert set(cells) == {(None, None)}
        return
    counted = {
        (human, model): table["matrix"][row][column]
        for row, human in enumerate(table["labels"])
        for column, model in enumerate(table["labels"])
        if table["matrix"][row][column]
    }
    assert cells == counted


@pytest.mark.parametrize(
    ("kind", "target", "said", "off"),
    [
        (Kind.NOMINAL, "x", "y", 1),
        (Kind.ORDINAL, 1, 4, 3),
        (Kind.CONTINUOUS, 1.0, 0.5, 0.5),
        (Kind.MULTILABEL, ["x", "y"], ["y", "z"], 2),
        (Kind.SPAN, [{"start": 0}], [{"start": 0}], 0),
    ],
)
def test_how_far_apart_two_answers_are(kind: Kind, target: Any, said: Any, off: float) -> None:
    assert distance(kind, target, said) == off


SPAN = {"start": 0, "end": 3, "label": "x", "text": "Ann"}
LATER = {"start": 8, "end": 11, "label": "y", "text": "Bob"}


def scheme(type_: str, **fields: Any) -> Scheme:
    config = {
        "annotation_task_name": "T",
        "data_files": ["items.jsonl"],
        "annotation_schemes": [{"annotation_type": type_, "name": "q", "description": "?", **fields}],
    }
    return ProjectFile.model_validate(config).annotation_schemes[0]


NOW = {
    "radio": scheme("radio", labels=["new", "other"], label_renames={"old": "new"}),
    "multiselect": scheme("multiselect", labels=["y", "new"], label_renames={"old": "new"}),
    "span": scheme("span", labels=["y", "new"], label_renames={"x": "new"}),
    "likert": scheme("likert", size=3),
    "slider": scheme("slider"),
    "pairwise": scheme("pairwise", allow_tie=False),
    "text": scheme("text"),
}


@pytest.mark.parametrize(
    ("type_", "stored", "now", "suggested", "told"),
    [
        ("radio", "old", "new", "new", "new"),
        ("radio", "gone", None, None, "gone"),
        ("radio", [SPAN], None, None, None),
        ("multiselect", ["old", "y"], ["y", "new"], ["y", "new"], "y, new"),
        ("multiselect", [], [], [], "none of these"),
        ("multiselect", ["y", "gone"], None, None, '["y", "gone"]'),
        ("multiselect", 4, None, None, "4"),
        ("span", [LATER, SPAN], [{**SPAN, "label": "new"}, LATER], [{**SPAN, "label": "new"}, LATER], None),
        ("span", ["y"], None, None, '["y"]'),
        ("span", "new", None, None, "new"),
        ("likert", 3, 3, 3, "3"),
        ("likert", 5, None, None, "5"),
        ("slider", 41.23, 41.23, 41, "41.23"),
        ("slider", "old", None, None, "old"),
        ("pairwise", "tie", None, None, "tie"),
        ("text", " hello\n", "hello", "hello", "hello"),
        ("text", "  ", "", None, ""),
        ("text", 4.5, None, None, "4.5"),
    ],
)
def test_what_was_stored_is_read_in_the_scheme_as_it_is_now(
    type_: str, stored: Any, now: Any, suggested: Any, told: str | None
) -> None:
    asked = NOW[type_]
    assert asked.as_now(stored) == now
    assert asked.suggested(stored) == suggested
    assert told is None or asked.told(stored) == told


@pytest.mark.parametrize(
    ("type_", "rejected", "again", "another"),
    [
        ("radio", "old", "new", "other"),
        ("radio", "gone", "gone", "new"),
        ("multiselect", ["new", "y"], ["y", "old"], ["y"]),
        ("span", [LATER, SPAN], [{**SPAN, "label": "new"}, LATER], [SPAN]),
        ("slider", 41.23, 41.31, 41.6),
        ("text", "hello", "hello ", "hallo"),
    ],
)
def test_a_rejected_answer_is_known_again_however_it_was_written(
    type_: str, rejected: Any, again: Any, another: Any
) -> None:
    refused = Rejected(NOW[type_], [(1, rejected)])
    assert refused.holds(1, again)
    assert refused.holds(1, rejected)
    assert not refused.holds(1, another)
    assert not refused.holds(2, again)
