"""`hf-token-classification`, over a BERT so small that it learns in seconds, and on real addresses."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from conftest import sample
from jobs import Item, held_out, task, write_bundle
from potato.training.trainers.base import Cancelled, Model, Task, TrainerError
from potato.training.trainers.hf_token_classification import HfTokenClassification
from potato.training.trainers.targets import figures
from sentences import ODD_TEXTS, WORDS, items, sentence

pytestmark = [
    pytest.mark.usefixtures("fine_tuning"),
    pytest.mark.computes,
    pytest.mark.filterwarnings("ignore"),  # what torch and transformers warn of among themselves
]

QUICK = {"epochs": 6, "learning_rate": 5e-3, "max_length": 32}
LABELS = ["bad", "good"]


def marked(text: str) -> list[dict[str, Any]]:
    """A span for each good or bad word."""
    found, at = [], 0
    for word in text.split(" "):
        label = next((label for label in LABELS if word in WORDS[label]), None)
        if label is not None:
            found.append({"start": at, "end": at + len(word), "label": label, "text": word})
        at += len(word) + 1
    return found


def judged(chance: random.Random) -> tuple[str, Any]:
    text = sentence(chance, *chance.choice([["good"], ["bad"], ["good", "bad"], []]))
    return text, marked(text)


def made(folder: Path, base: str, rows: list[Item], labels: Any = None, **params: Any) -> Task:
    write_bundle(folder, rows, {"s": ("span", LABELS if labels is None else labels)})
    return task(folder, "s", HfTokenClassification.info, base_model=base, **{**QUICK, **params})


def entity_f1(folder: Path, model: Model, the: Task) -> float:
    test = held_out(folder, ["test"])
    return figures(list(model.predict(test)), test, the.schema)["entity_f1"]


@pytest.mark.parametrize("weight", ["none", "balanced"])
def test_it_learns_and_its_folder_is_loaded_by_its_librarys_own_call(tmp_path: Path, tiny: str, weight: str) -> None:
    """annotation 45: names by the folder's own list."""
    bundle, folder = tmp_path / "bundle", tmp_path / "model"
    the = made(bundle, tiny, items(judged), class_weight=weight)
    model = HfTokenClassification().fit(the)
    assert entity_f1(bundle, model, the) > 0.9  # no span at all: 0
    assert model.metrics()["val_entity_f1"] > 0.9
    if weight == "balanced":
        return
    folder.mkdir()
    model.save(str(folder))
    test = held_out(bundle, ["test"])
    program = """
import json, sys
from transformers import pipeline
tag = pipeline("token-classification", model=sys.argv[1], aggregation_strategy="simple")
found = [tag(text) for text in json.load(sys.stdin)]
print(json.dumps([[[one["start"], one["end"], one["entity_group"]] for one in text] for text in found]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        input=json.dumps([one.text for one in test]).encode(),
        capture_output=True,
        check=True,
    )
    for one, spans in zip(model.predict(test), json.loads(done.stdout), strict=True):
        assert [[span["start"], span["end"], span["label"]] for span in one.payload] == spans
    assert json.loads((folder / "potato.json").read_text("utf-8"))["classes"] == LABELS


def test_a_long_text_is_read_to_its_end_and_each_span_found_once(tmp_path: Path, tiny: str) -> None:
    chance = random.Random(3)
    long = " ".join(judged(chance)[0] for _ in range(60))
    rows = [*items(judged, test=0), Item("long", long, "test", {"s": marked(long)})]
    the = made(tmp_path, tiny, rows)
    model = HfTokenClassification().fit(the)
    [said] = model.predict(held_out(tmp_path, ["test"]))
    assert all(long[span["start"] : span["end"]] == span["text"] for span in said.payload)
    places = [(span["start"], span["end"]) for span in said.payload]
    assert len(places) == len(set(places))
    assert max(places)[1] > len(long) - 100
    assert entity_f1(tmp_path, model, the) > 0.9


def test_spans_that_overlap_are_said_to_be_left_out(tmp_path: Path, tiny: str) -> None:
    rows = items(judged, train=10, val=0)
    text = "lovely awful day"
    both = [{"start": 0, "end": 12, "label": "good", "text": text[:12]}, marked(text)[1]]
    the = made(tmp_path, tiny, [*rows, Item("both", text, "train", {"s": both})], epochs=1)
    HfTokenClassification().fit(the)
    assert ("log", "warning", "1 spans overlap longer ones, and are not learned: a token has one label") in the.events  # type: ignore[attr-defined]


def test_texts_of_every_kind_are_taken_and_offsets_are_of_the_very_text(tmp_path: Path, tiny: str) -> None:
    """annotation 15, 16"""
    rows = [Item(f"t{n}", text, "train", {"s": []}) for n, text in enumerate(ODD_TEXTS)]
    rows += items(judged, train=20, val=0, test=0)
    rows += [Item(f"p{n}", f"{text}\r\n  lovely 💩 awful", "predict") for n, text in enumerate(ODD_TEXTS)]
    model = HfTokenClassification().fit(made(tmp_path, tiny, rows, epochs=2, max_length=64))
    for item, one in zip(held_out(tmp_path), model.predict(held_out(tmp_path)), strict=True):
        assert one.instance_id == item.id
        assert all(item.text[span["start"] : span["end"]] == span["text"] for span in one.payload)
        assert one.confidence is not None and 0 <= one.confidence <= 1


def test_nothing_marked_is_nothing_to_learn(tmp_path: Path, tiny: str) -> None:
    with pytest.raises(TrainerError, match="no training item has a label") as raised:
        HfTokenClassification().fit(made(tmp_path, tiny, [Item(str(n), "x", "train", {"s": []}) for n in range(5)]))
    assert raised.value.code == "one_class"


def test_it_stops_within_a_step(tmp_path: Path, tiny: str) -> None:
    the = made(tmp_path, tiny, items(judged, val=0), epochs=1000)
    the.should_stop = lambda: sum(event[0] == "progress" for event in the.events) >= 5  # type: ignore[attr-defined]
    with pytest.raises(Cancelled):
        HfTokenClassification().fit(the)
    assert sum(event[0] == "progress" for event in the.events) == 5  # type: ignore[attr-defined]


def test_a_loss_that_is_no_number_any_more_ends_the_run(tmp_path: Path, tiny: str) -> None:
    """annotation 46"""
    with pytest.raises(TrainerError, match=r"the loss .* at step|is not a number") as raised:
        HfTokenClassification().fit(made(tmp_path, tiny, items(judged), learning_rate=1e30))
    assert raised.value.code == "not_finite"


def addresses(most: int) -> list[Item]:
    """American addresses with their parts marked, from the source package of usaddress."""
    rows = []
    for number, line in enumerate(ElementTree.parse(sample("usaddress") / "training" / "labeled.xml").getroot()):
        text, spans = "", []
        for part in line:
            word = part.text or ""
            stripped = word.rstrip(",.; ")
            if stripped:
                end = len(text) + len(stripped)
                spans.append({"start": len(text), "end": end, "label": part.tag, "text": stripped})
            text += word + (part.tail or " ")
        split = "test" if number % 5 == 0 else "train"
        rows.append(Item(f"a{number}", text, split, {"s": spans}))
    return rows[:most]


def test_it_finds_the_parts_of_real_addresses(tmp_path: Path, minilm: str) -> None:
    rows = addresses(200)
    labels = sorted({span["label"] for row in rows for span in row.targets["s"]})
    the = made(tmp_path, minilm, rows, labels, epochs=3, learning_rate=1e-3, max_length=64)
    model = HfTokenClassification().fit(the)
    f1 = entity_f1(tmp_path, model, the)
    print(f"entity F1 {f1:.3f}")
    assert f1 > 0.6  # no span at all: 0
