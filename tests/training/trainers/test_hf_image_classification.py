"""`hf-image-classification`, on scikit-learn's handwritten digits as PNG files, with a small transformer made here."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs import Item, held_out, task, write_bundle
from potato.training.trainers.base import Cancelled, Task, TrainerError
from potato.training.trainers.hf_image_classification import HfImageClassification
from sentences import right

pytestmark = [
    pytest.mark.usefixtures("fine_tuning"),
    pytest.mark.computes,
    pytest.mark.filterwarnings("ignore"),  # what torch and transformers warn of among themselves
]

QUICK = {"epochs": 12, "learning_rate": 3e-3, "batch_size": 32, "patience": 12}
DIGITS = [str(digit) for digit in range(10)]


def digits(folder: Path, train: int = 400, test: int = 150, target: Any = str) -> list[Item]:
    """Items with a PNG each in the bundle's media folder, divided by chance that is always the same."""
    from PIL import Image
    from sklearn.datasets import load_digits

    data = load_digits()
    media = folder / "media"
    media.mkdir(parents=True)
    order = sorted(range(len(data.target)), key=lambda number: hashlib.sha256(b"%d" % number).digest())
    rows = []
    for place, number in enumerate(order[: train + 50 + test]):
        split = "train" if place < train else "val" if place < train + 50 else "test"
        Image.fromarray((data.images[number] * 15.9).astype("uint8")).save(media / f"{number}.png")
        targets = {"s": target(int(data.target[number]))}
        rows.append(Item(f"d{number}", "", split, targets, media={"image": f"{number}.png"}))
    return rows


def made(folder: Path, base: str, rows: list[Item], kind: str = "nominal", labels: Any = None, **params: Any) -> Task:
    write_bundle(folder, rows, {"s": (kind, DIGITS if labels is None else labels)})
    return task(folder, "s", HfImageClassification.info, base_model=base, **{**QUICK, **params})


def test_it_learns_digits_and_its_folder_is_loaded_by_its_librarys_own_call(tmp_path: Path, tiny_vit: str) -> None:
    """annotation 45: names by the folder's own list."""
    bundle, folder = tmp_path / "bundle", tmp_path / "model"
    model = HfImageClassification().fit(made(bundle, tiny_vit, digits(bundle)))
    assert right(bundle, model) > 0.4  # the commonest digit: 0.1
    folder.mkdir()
    model.save(str(folder))
    test = held_out(bundle, ["test"])[:20]
    program = """
import json, sys
from transformers import pipeline
classify = pipeline("image-classification", model=sys.argv[1])
print(json.dumps([classify(path)[0]["label"] for path in json.load(sys.stdin)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        input=json.dumps([str(bundle / "media" / one.media["image"]) for one in test]).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == [one.payload for one in model.predict(test)]
    assert json.loads((folder / "potato.json").read_text("utf-8"))["classes"] == DIGITS


def test_it_learns_several_labels_of_an_image(tmp_path: Path, tiny_vit: str) -> None:
    def target(digit: int) -> list[str]:
        return [name for name, there in (("even", digit % 2 == 0), ("large", digit > 4)) if there]

    rows = digits(tmp_path, target=target)
    model = HfImageClassification().fit(made(tmp_path, tiny_vit, rows, "multilabel", ["even", "large"]))
    assert right(tmp_path, model) > 0.4  # the commonest answer: 0.3


def test_an_image_that_cannot_be_read_or_is_not_there_is_a_sentence(tmp_path: Path, tiny_vit: str) -> None:
    rows = digits(tmp_path, train=20, test=0)
    (tmp_path / "media" / rows[3].media["image"]).write_bytes(b"no picture")
    with pytest.raises(TrainerError, match=rf"the image of item '{rows[3].id}' cannot be read") as raised:
        HfImageClassification().fit(made(tmp_path, tiny_vit, rows))
    assert raised.value.code == "bad_image"
    rows[3] = Item("bare", "", "train", {"s": "1"})
    with pytest.raises(TrainerError, match="item 'bare' has no image"):
        HfImageClassification().fit(made(tmp_path, tiny_vit, rows))


def test_a_base_model_of_texts_is_a_sentence(tmp_path: Path, tiny: str) -> None:
    with pytest.raises(TrainerError, match="cannot be loaded") as raised:
        HfImageClassification().fit(made(tmp_path, tiny, digits(tmp_path, train=20, test=0)))
    assert raised.value.code == "base_model"


def test_it_stops_within_a_step(tmp_path: Path, tiny_vit: str) -> None:
    the = made(tmp_path, tiny_vit, digits(tmp_path, train=100, test=0), epochs=1000)
    the.should_stop = lambda: sum(event[0] == "progress" for event in the.events) >= 5  # type: ignore[attr-defined]
    with pytest.raises(Cancelled):
        HfImageClassification().fit(the)
    assert sum(event[0] == "progress" for event in the.events) == 5  # type: ignore[attr-defined]
