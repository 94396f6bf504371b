"""Trainers as a project runs them: labels, bundle, worker on the backend `local`, score, model folder."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pytest

from lab import FAST, Lab, finished
from potato.training.runs.request import RunRequest
from sentences import sentence

pytestmark = [pytest.mark.usefixtures("fine_tuning"), pytest.mark.computes, pytest.mark.timeout(600)]

SPLITS = {"splits": {"train": 0.6, "val": 0.15, "test": 0.25}}
LABEL = {"good": "positive", "bad": "negative"}


def lab(folder: Path, images: bool = False) -> Lab:
    """120 items that are easy to tell apart, by their text or by their picture, all labelled."""
    from PIL import Image

    chance = random.Random(3)
    (folder / "pictures").mkdir(parents=True)
    rows, answers = [], {}
    for number in range(120):
        kind = chance.choice(["good", "bad"])
        row: dict[str, Any] = {"id": f"i{number}", "text": f"{sentence(chance, kind, kind)} {number}"}
        answers[row["id"]] = LABEL[kind]
        if images:
            row["image"] = f"pictures/{number}.png"
            tone = chance.randrange(160, 250) if kind == "good" else chance.randrange(10, 90)
            Image.new("L", (8, 8), tone).save(folder / row["image"])
        rows.append(row)
    more = {"item_properties": {"image_key": "image"}} if images else {}
    made = Lab(folder, rows, model_training={"device": "cpu", "num_threads": 1, **SPLITS}, **more)
    made.label(answers)
    return made


@pytest.mark.parametrize(
    ("trainer", "base", "params"),
    [
        ("text-embedding", "schooled", {}),
        ("hf-text-classification", "schooled", {"epochs": 3, "learning_rate": 5e-3, "method": "lora"}),
        ("hf-image-classification", "tiny_vit", {"epochs": 6, "learning_rate": 5e-3}),
        ("llm-finetune", "tiny_llm", {"epochs": 6, "learning_rate": 5e-3, "max_length": 192}),
    ],
)
def test_a_project_trains_with_it_and_scores_it(
    tmp_path: Path, trainer: str, base: str, params: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    made = lab(tmp_path / "lab", images=trainer == "hf-image-classification")
    params = {**params, "base_model": str(request.getfixturevalue(base))}
    with made.supervisor(dataclasses.replace(FAST, linger=30.0)) as supervisor:
        run_id = supervisor.submit(RunRequest(trainer, ["sentiment"], params=params)).run_id
        run = finished(supervisor, run_id, 300)
    folder = made.project.runs_dir / run_id
    assert run.state.value == "success", (folder / "stderr.log").read_text("utf-8", "replace")[-3000:]
    test = run.scores["sentiment"]["test"]
    assert test["n"] > 15
    assert test["accuracy"] > 0.8  # always the same answer: about 0.5
    assert (folder / "artifacts" / "1-sentiment" / "potato.json").is_file()
