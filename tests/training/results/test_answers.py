"""The cell that a held-out answer falls into is the one in which its score counts it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from potato.schemes import Kind
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
