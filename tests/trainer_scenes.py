"""A small task that each trainer learns in a second or two, for tests of what all of them must do."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jobs import Item, task, write_bundle
from potato.training.trainers import registry
from potato.training.trainers.base import Task, Trainer
from sentences import WORDS, items, nominal, sentence


@dataclass(frozen=True)
class Scene:
    """What a trainer is given: the fixture with its base model, a bundle's items, the scheme, quick params."""

    trainer: str
    base: str | None
    items: Callable[[Path], list[Item]]
    kind: str
    labels: list[str]
    params: dict[str, Any] = field(default_factory=dict)

    def get(self) -> Trainer:
        """The trainer."""
        return registry.get(self.trainer)

    def bundle(self, folder: Path, labels: list[str] | None = None) -> Path:
        """Write the bundle."""
        write_bundle(folder, self.items(folder), {"s": (self.kind, labels or self.labels)})
        return folder

    def task(self, folder: Path, base: str, **more: Any) -> Task:
        """What the worker would give the trainer, of the bundle in `folder`."""
        given = {**self.params, **({"base_model": base} if self.base else {}), **more}
        return task(folder, "s", self.get().info, **given)


def texts(folder: Path) -> list[Item]:
    return items(nominal, train=60, val=20, test=20)


def marked(chance: random.Random) -> tuple[str, Any]:
    """A sentence in which the good words are marked."""
    text = sentence(chance, "good", "bad")
    word = next(word for word in text.split() if word in WORDS["good"])
    start = text.index(word)
    return text, [{"start": start, "end": start + len(word), "label": "good", "text": word}]


def spans(folder: Path) -> list[Item]:
    return items(marked, train=60, val=20, test=20)


def pairs(folder: Path) -> list[Item]:
    chance = random.Random(5)
    rows = []
    for number, split in enumerate(["train"] * 60 + ["val"] * 20 + ["test"] * 20):
        good, bad = sentence(chance, "good", "good"), sentence(chance, "bad", "bad")
        first = chance.random() < 0.5
        fields = {"text_a": good if first else bad, "text_b": bad if first else good}
        rows.append(Item(f"{split}{number}", "", split, {"s": "a" if first else "b"}, fields=fields))
    return rows


def pictures(folder: Path) -> list[Item]:
    """Pictures that are light or dark."""
    from PIL import Image

    chance = random.Random(5)
    (folder / "media").mkdir(parents=True, exist_ok=True)
    rows = []
    for number, split in enumerate(["train"] * 60 + ["val"] * 20 + ["test"] * 20):
        light = chance.random() < 0.5
        tone = chance.randrange(160, 250) if light else chance.randrange(10, 90)
        Image.new("L", (8, 8), tone).save(folder / "media" / f"{number}.png")
        targets = {"s": "good" if light else "bad"}
        rows.append(Item(f"{split}{number}", "", split, targets, media={"image": f"{number}.png"}))
    return rows


LABELS = ["bad", "good"]
FEW = {"epochs": 3, "learning_rate": 5e-3}

SCENES = [
    Scene("sklearn-text", None, texts, "nominal", LABELS),
    Scene("text-embedding", "schooled", texts, "nominal", LABELS),
    Scene("hf-text-classification", "schooled", texts, "nominal", LABELS, FEW),
    Scene("hf-token-classification", "schooled", spans, "span", ["good"], FEW),
    Scene("hf-pairwise-preference", "schooled", pairs, "pairwise", ["a", "b", "tie"], FEW),
    Scene("hf-image-classification", "tiny_vit", pictures, "nominal", LABELS, {**FEW, "epochs": 6}),
    Scene("llm-finetune", "tiny_llm", texts, "nominal", LABELS, {**FEW, "epochs": 6, "max_length": 128}),
]
