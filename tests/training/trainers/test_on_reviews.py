"""The trainers on real reviews that people really disagree about. POTATO_FULL=1 takes the larger cut."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conftest import missing, sample
from jobs import Item, Job, write_bundle
from potato.training.contract.exits import Exit

pytestmark = pytest.mark.computes

FULL = os.environ.get("POTATO_FULL") == "1"


def rows(folder: Path, most: int | None = None) -> list[Item]:
    """Reviews with the sign that most of five raters gave them, divided by a hash of their text; `most` bounds the
    training items."""
    texts = {}
    for line in (folder / "reviews.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        texts[row["id"]] = row["text"]
    made = []
    for line in (folder / "ratings.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        signs = Counter(rating > 0 for rating in row["ratings"][:5] if rating)
        if signs[True] == signs[False]:
            continue
        label = "positive" if signs[True] > signs[False] else "negative"
        text = texts[row["id"]]
        place = int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) / 2**32
        split = "train" if place < 0.7 else "val" if place < 0.85 else "test"
        made.append((place, Item(row["id"], text, split, {"s": label})))
    made.sort(key=lambda one: one[0])
    train = [item for _, item in made if item.split == "train"][:most]
    return train + [item for _, item in made if item.split != "train"]


def accuracy(folder: Path, items: list[Item], trainer: str, **params: Any) -> float:
    """The share of test items that a run of the worker gets right."""
    bundle = write_bundle(folder / "bundle", items, {"s": ("nominal", ["positive", "negative"])})
    job = Job(folder, bundle, trainer, ["s"], params, {"num_threads": 2 if FULL else 1}).write()
    assert job.run(limit=1800, HF_HUB_OFFLINE="1") == Exit.FINISHED, job.stderr()
    truth = {item.id: item.targets["s"] for item in items if item.split == "test"}
    said = [(one.payload, truth[one.instance_id]) for one in job.predictions() if one.instance_id in truth]
    assert len(said) == len(truth)
    return sum(payload == target for payload, target in said) / len(said)


def test_sklearn_text_reaches_what_it_must(reviews: Path, tmp_path: Path) -> None:
    items = rows(reviews)
    test = Counter(item.targets["s"] for item in items if item.split == "test")
    assert test["positive"] / test.total() < 0.62
    assert accuracy(tmp_path, items, "sklearn-text") >= 0.74


def test_text_embedding_needs_few_labels(reviews: Path, tmp_path: Path, minilm: str) -> None:
    items = rows(reviews, 300)
    items = [item for item in items if item.split == "train"] + [item for item in items if item.split == "test"][:200]
    assert accuracy(tmp_path, items, "text-embedding", base_model=minilm, max_length=64) >= 0.72


@pytest.mark.timeout(1800)
def test_fine_tuning_beats_sklearn_text(reviews: Path, tmp_path: Path, minilm: str) -> None:
    items = rows(reviews, 1000 if FULL else 300)
    if not FULL:
        test = [item for item in items if item.split == "test"][:200]
        items = [item for item in items if item.split == "train"] + test
    base = accuracy(tmp_path / "sklearn", items, "sklearn-text")
    tuned = accuracy(
        tmp_path / "hf", items, "hf-text-classification", base_model=minilm, epochs=3 if FULL else 2, max_length=64
    )
    print(f"sklearn-text {base:.4f}, hf-text-classification {tuned:.4f}")
    assert tuned > base + 0.02


def short(reviews: Path, train: int, test: int) -> list[Item]:
    """Short reviews: a step on them is quick."""
    some = [item for item in rows(reviews) if len(item.text) < 120]
    of = {split: [item for item in some if item.split == split] for split in ("train", "test")}
    return of["train"][:train] + of["test"][:test]


@pytest.mark.timeout(900)
def test_a_language_model_learns_from_few_reviews(reviews: Path, tmp_path: Path, fine_tuning: None) -> None:
    items = short(reviews, 40, 60)
    test = Counter(item.targets["s"] for item in items if item.split == "test")
    base = str(sample("SmolLM2-135M-Instruct"))
    share = accuracy(tmp_path, items, "llm-finetune", base_model=base, max_length=128, epochs=2)
    print(f"llm-finetune {share:.3f}")
    assert share >= max(test.values()) / test.total() + 0.05


@pytest.mark.timeout(900)
def test_a_language_model_is_taken_in_4_bits(reviews: Path, tmp_path: Path, fine_tuning: None) -> None:
    if importlib.util.find_spec("bitsandbytes") is None:
        missing("the package bitsandbytes")
    params = {"base_model": str(sample("SmolLM2-135M-Instruct")), "max_length": 128, "quantization": "4bit"}
    accuracy(tmp_path, short(reviews, 8, 4), "llm-finetune", **params, epochs=1)
    assert json.loads((tmp_path / "work" / "artifacts" / "1-s" / "potato.json").read_text())["quantization"] == "4bit"
