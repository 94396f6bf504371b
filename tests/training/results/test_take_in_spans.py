"""Spans through the house: labels → bundle → predictions → scores and suggestions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab import Lab
from potato.errors import PotatoError
from potato.project.training import Splits
from potato.store.training import predictions, runs
from potato.store.training.runs import Run, State
from potato.training.bundle.build import build
from potato.training.bundle.enough import NotEnoughLabels
from potato.training.contract.bundle import Bundle
from potato.training.contract.predictions import Prediction
from potato.training.results.comparison import compare
from potato.training.results.task import evaluate
from potato.training.splits import split_of
from potato.training.trainers import registry

INFO = registry.get("hf-token-classification").info
WHO = {"annotation_type": "span", "name": "who", "description": "Who?", "labels": ["person", "place", "thing"]}
NAMES = ["Ann", "Bob \U0001f469\u200d\U0001f469", "Zoe\u0301"]
AT = "2026-11-29T14:15:00.000Z"


def span(text: str, part: str, label: str) -> dict[str, Any]:
    start = text.index(part)
    return {"start": start, "end": start + len(part), "label": label, "text": part}


def right(text: str) -> list[dict[str, Any]]:
    name = next(name for name in NAMES if name in text)
    return [span(text, name, "person"), span(text, "Rome", "place")]


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    rows = [{"id": f"i{n}", "text": f"\U0001f4a9 no. {n}:\r\n  {NAMES[n % 3]} is in Rome"} for n in range(60)]
    writeback = {"schemas": ["who"], "include_unlabeled": True}
    made = Lab(tmp_path / "lab", rows, annotation_schemes=[WHO], model_training={"writeback": writeback})
    made.texts = {row["id"]: row["text"] for row in rows}  # type: ignore[attr-defined]
    return made


def label(lab: Lab, user: str = "ann", **other: Any) -> None:
    texts: dict[str, str] = lab.texts  # type: ignore[attr-defined]
    lab.label({item: other.get(item, right(texts[item])) for item in lab.ids[:40]}, "who", user)


def test_a_bundle_holds_spans_that_its_texts_bear_out(lab: Lab) -> None:
    label(lab)
    label(lab, "bob", i0=[])
    built = build(lab.database, lab.project, INFO, ["who"], lab.folder / "bundle")
    bundle = Bundle(str(lab.folder / "bundle"))
    items = {item.id: item for split in ("train", "val", "test") for item in bundle.items(split)}
    assert len(items) == 40
    for item in items.values():
        assert all(item.text[one["start"] : one["end"]] == one["text"] for one in item.targets["who"])
    assert items["i0"].votes["who"] == [[[], 1], [right(items["i0"].text), 1]]
    assert items["i1"].votes["who"] == [[right(items["i1"].text), 2]]
    assert bundle.schemas["who"].labels == ("person", "place", "thing")
    assert bundle.schemas["who"].classes == ("person", "place")
    trained = bundle.manifest["counts"]["who"]
    assert trained["labels"]["train"]["place"] == trained["items"]["train"]
    assert built.digest == build(lab.database, lab.project, INFO, ["who"], lab.folder / "again").digest


def test_items_without_a_single_span_teach_nothing(lab: Lab) -> None:
    lab.label({item: [] for item in lab.ids[:40]}, "who")
    with pytest.raises(NotEnoughLabels, match="'who': 0 of 1 needed"):
        build(lab.database, lab.project, INFO, ["who"], lab.folder / "bundle")


def run_of(lab: Lab, change: dict[str, Any] | None = None, run_id: str = "r1") -> dict[str, Any]:
    """A run whose model marks all right, but for the items of `change`."""
    folder = lab.project.runs_dir / run_id
    with lab.database.write() as connection:
        run = Run(run_id, State.EVALUATING, "hf-token-classification", ["who"], {}, "api", "local", "local", AT)
        runs.add(connection, run)
    build(lab.database, lab.project, INFO, ["who"], folder / "bundle")
    bundle = Bundle(str(folder / "bundle"))
    said = [
        Prediction(item.id, "who", (change or {}).get(item.id, right(item.text)), 0.9)
        for split in ("val", "test", "predict")
        for item in bundle.items(split)
    ]
    (folder / "predictions.jsonl").write_bytes(b"".join(one.line() for one in said))
    args = {"run_id": run_id, "schemas": ["who"], "folder": str(folder), "result": {"n_predictions": len(said)}}
    answer = evaluate(lab.project, lab.database, args)
    json.dumps(answer)
    return answer


def test_predicted_spans_are_scored_and_become_suggestions(lab: Lab) -> None:
    label(lab)
    answer = run_of(lab)
    scored = answer["scores"]["who"]
    assert (scored["primary"]["name"], scored["primary"]["value"]) == ("entity_f1", 1.0)
    assert scored["baseline"]["entity_f1"] == 1.0  # every name was in the training texts
    assert answer["live"] == ["who"]
    with lab.database.write() as connection:
        predictions.set_live(connection, "r1", ["who"], AT)
    with lab.database.read() as connection:
        shown = list(predictions.all_suggestions(connection, "who", lab.project.schemes))
    assert shown
    texts: dict[str, str] = lab.texts  # type: ignore[attr-defined]
    assert all(suggestion.payload == right(texts[item]) for _, item, _, suggestion in shown)


def test_two_runs_are_compared_by_the_spans_they_mark(lab: Lab) -> None:
    label(lab)
    texts: dict[str, str] = lab.texts  # type: ignore[attr-defined]
    held_out = [item for item in lab.ids[:40] if split_of(item, 0, Splits()) == "test"]
    run_of(lab)
    run_of(lab, {held_out[0]: [], held_out[1]: right(texts[held_out[1]])[:1]}, "r2")
    found = compare(lab.project, lab.database, {"one": "r1", "other": "r2"})["who"]
    assert (found["name"], found["items"], found["differing"]) == ("entity_f1", len(held_out), 2)
    marked = 2 * len(held_out)
    assert (found["one"], found["other"]) == (1.0, pytest.approx(2 * (marked - 3) / (2 * marked - 3)))
    assert [row["id"] for row in found["differ"]] == sorted(held_out[:2], key=lab.ids.index)
    assert [(row["one_off"], row["other_off"]) for row in found["differ"]] == [(0, 1), (0, 1)]


def test_a_predicted_span_that_reads_otherwise_refuses_the_file(lab: Lab) -> None:
    label(lab)
    text = lab.texts["i45"]  # type: ignore[attr-defined]
    wrong = {**right(text)[0], "start": 0, "end": len(right(text)[0]["text"])}
    with pytest.raises(PotatoError, match=r"for item 'i45': from 0 to \d+ the text reads"):
        run_of(lab, {f"i{number}": [wrong] for number in (45,)})
