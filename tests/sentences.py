"""Small made-up data that a model learns in a second, and texts and labels that are odd."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jobs import Item, held_out
from potato.training.trainers.base import Model

WORDS = {"good": ["great", "lovely", "superb", "kind"], "bad": ["awful", "broken", "rude", "dull"]}
FILLER = ["the", "room", "was", "and", "service", "film", "a", "bit", "very", "day"]
ODD = ["it's", "a:b", "x, y", 'say "hi"', "<cat>", "A/B", "اسم", "\u2028", "a" * 200]


def sentence(chance: random.Random, *labels: str) -> str:
    words = [chance.choice(WORDS[label]) for label in labels] + chance.sample(FILLER, 4)
    chance.shuffle(words)
    return " ".join(words)


def items(
    make: Callable[[random.Random], tuple[str, Any]], train: int = 150, val: int = 24, test: int = 40
) -> list[Item]:
    """Items whose text and target `make` draws."""
    chance = random.Random(5)
    splits = ["train"] * train + ["val"] * val + ["test"] * test
    made = [(split, *make(chance)) for split in splits]
    return [Item(f"{split}{n}", text, split, {"s": target}) for n, (split, text, target) in enumerate(made)]


def nominal(chance: random.Random) -> tuple[str, Any]:
    label = chance.choice(["good", "bad"])
    return sentence(chance, label), label


def multilabel(chance: random.Random) -> tuple[str, Any]:
    labels = [label for label in ("bad", "good") if chance.random() < 0.5]
    return sentence(chance, *labels), labels


def ordinal(chance: random.Random) -> tuple[str, Any]:
    point = chance.choice([1, 3, 5])
    return sentence(chance, *{1: ["bad", "bad"], 3: ["bad", "good"], 5: ["good", "good"]}[point]), point


KINDS = {
    "nominal": (nominal, ["bad", "good", "mixed"]),
    "multilabel": (multilabel, ["bad", "good"]),
    "ordinal": (ordinal, ["1", "2", "3", "4", "5"]),
}

ODD_TEXTS = ["", " ", "\0\0", "😀😀", "a" * 100_000, "\u2028\n\r\n", "x\0y", "日本語のテキスト", "\ufeff", "1"]


def right(folder: Path, model: Model) -> float:
    """The share of test items that are predicted right."""
    test = held_out(folder, ["test"])
    said = list(model.predict(test))
    assert [one.instance_id for one in said] == [one.id for one in test]
    return sum(one.payload == other.targets["s"] for one, other in zip(said, test, strict=True)) / len(test)
