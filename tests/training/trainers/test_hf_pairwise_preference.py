"""`hf-pairwise-preference`, over a BERT so small that it learns in seconds, and on real pairs of titles."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import sample
from jobs import Item, held_out, task, write_bundle
from potato.training.trainers.base import Cancelled, Task, TrainerError
from potato.training.trainers.hf_pairwise_preference import HfPairwisePreference
from sentences import right, sentence

pytestmark = [
    pytest.mark.usefixtures("fine_tuning"),
    pytest.mark.computes,
    pytest.mark.filterwarnings("ignore"),  # what torch, transformers and peft warn of among themselves
]

QUICK = {"epochs": 6, "learning_rate": 5e-3, "max_length": 32}
ANSWERS = ["a", "b", "tie"]


def pairs(ties: bool = False, train: int = 120, val: int = 24, test: int = 40) -> list[Item]:
    """Two sentences, of which the one with the better words is preferred; with equal ones there is a tie."""
    chance = random.Random(5)
    rows = []
    for number, split in enumerate(["train"] * train + ["val"] * val + ["test"] * test):
        points = [chance.randrange(3) for _ in range(2)] if ties else chance.sample(range(3), 2)
        texts = [sentence(chance, *["good"] * point, *["bad"] * (2 - point)) for point in points]
        answer = "tie" if points[0] == points[1] else "a" if points[0] > points[1] else "b"
        rows.append(Item(f"i{number}", "", split, {"s": answer}, fields={"text_a": texts[0], "text_b": texts[1]}))
    return rows


def made(folder: Path, base: str, rows: list[Item], **params: Any) -> Task:
    write_bundle(folder, rows, {"s": ("pairwise", ANSWERS)})
    return task(folder, "s", HfPairwisePreference.info, base_model=base, **{**QUICK, **params})


@pytest.mark.parametrize("method", ["full", "lora"])
def test_it_learns_and_its_folder_is_loaded_by_its_librarys_own_call(
    tmp_path: Path, schooled: str, method: str
) -> None:
    bundle, folder = tmp_path / "bundle", tmp_path / "model"
    model = HfPairwisePreference().fit(made(bundle, schooled, pairs(), method=method))
    assert right(bundle, model) > 0.85  # always the same side: at most 0.6
    folder.mkdir()
    model.save(str(folder))
    test = held_out(bundle, ["test"])
    program = """
import json, sys, torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[1])
def reward(text):
    return float(model(**tokenizer(text, return_tensors="pt")).logits)
with torch.no_grad():
    rewards = [map(reward, pair) for pair in json.load(sys.stdin)]
    rewards = [list(pair) for pair in rewards]
print(json.dumps([float(torch.tensor(a - b).sigmoid()) for a, b in rewards]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        input=json.dumps([[one.fields["text_a"], one.fields["text_b"]] for one in test]).encode(),
        capture_output=True,
        check=True,
    )
    for one, share in zip(model.predict(test), json.loads(done.stdout), strict=True):
        assert one.probabilities == {"a": pytest.approx(share, abs=1e-4), "b": pytest.approx(1 - share, abs=1e-4)}
    assert json.loads((folder / "potato.json").read_text("utf-8"))["tie_weight"] == 0


def test_sides_that_change_places_change_the_answer(tmp_path: Path, schooled: str) -> None:
    model = HfPairwisePreference().fit(made(tmp_path, schooled, pairs()))
    test = held_out(tmp_path, ["test"])
    fields = [{"text_a": one.fields["text_b"], "text_b": one.fields["text_a"]} for one in test]
    swapped = [replace(one, fields=other) for one, other in zip(test, fields, strict=True)]
    for one, other in zip(model.predict(test), model.predict(swapped), strict=True):
        assert one.probabilities is not None and other.probabilities is not None
        assert one.probabilities["a"] == pytest.approx(other.probabilities["b"], abs=1e-4)
        assert one.payload != other.payload


def test_ties_are_learned(tmp_path: Path, schooled: str) -> None:
    rows = pairs(ties=True, train=200)
    model = HfPairwisePreference().fit(made(tmp_path, schooled, rows, epochs=12, patience=12))
    assert right(tmp_path, model) > 0.6  # always the same answer: at most 0.45
    said = list(model.predict(held_out(tmp_path, ["test"])))
    assert {one.payload for one in said} == {"a", "b", "tie"}
    assert all(sum((one.probabilities or {}).values()) == pytest.approx(1, abs=1e-4) for one in said)


def test_what_cannot_be_learned_from_is_a_sentence(tmp_path: Path, tiny: str) -> None:
    ties = [Item(str(n), "", "train", {"s": "tie"}, fields={"text_a": "x", "text_b": "y"}) for n in range(4)]
    with pytest.raises(TrainerError, match="every pair is a tie") as raised:
        HfPairwisePreference().fit(made(tmp_path / "1", tiny, ties))
    assert raised.value.code == "one_class"
    with pytest.raises(TrainerError, match="item 'i0' has no text in its field 'left'"):
        HfPairwisePreference().fit(made(tmp_path / "2", tiny, pairs(train=4), field_a="left"))


def test_it_stops_within_a_step(tmp_path: Path, tiny: str) -> None:
    the = made(tmp_path, tiny, pairs(val=0), epochs=1000)
    the.should_stop = lambda: sum(event[0] == "progress" for event in the.events) >= 5  # type: ignore[attr-defined]
    with pytest.raises(Cancelled):
        HfPairwisePreference().fit(the)
    assert sum(event[0] == "progress" for event in the.events) == 5  # type: ignore[attr-defined]


def titles() -> list[Item]:
    """Two pairs of titles, one of which people judged to be of one paper: it is the better one. From the source package
    of py-entitymatching."""
    file = sample("py-entitymatching") / "py_entitymatching" / "datasets" / "labeled_data_demo.csv"
    with file.open(encoding="utf-8", errors="replace", newline="") as lines:
        rows = [(f"{row['ltable_title']} | {row['rtable_title']}", row["label"]) for row in csv.DictReader(lines)]
    same = [text for text, label in rows if label == "1"]
    other = [text for text, label in rows if label == "0"]
    chance = random.Random(1)
    made = []
    for number, (good, bad) in enumerate(zip(same, other, strict=False)):
        first = chance.random() < 0.5
        fields = {"text_a": good if first else bad, "text_b": bad if first else good}
        split = "test" if number % 3 == 0 else "train"
        made.append(Item(f"p{number}", "", split, {"s": "a" if first else "b"}, fields=fields))
    return made


def test_it_learns_which_of_two_real_pairs_of_titles_is_of_one_paper(tmp_path: Path, minilm: str) -> None:
    params = {"epochs": 2, "learning_rate": 3e-4, "max_length": 64}
    model = HfPairwisePreference().fit(made(tmp_path, minilm, titles()[:90], **params))
    share = right(tmp_path, model)
    print(f"accuracy {share:.3f}")
    assert share > 0.7  # always the same side: about 0.5
