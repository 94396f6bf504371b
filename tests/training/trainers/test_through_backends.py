"""Trainers as a project runs them, here and by way of an agent: labels, bundle, worker, scores, the model's files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_scene import BACKEND, Served, agent, agent_lab, served, token_for
from sentences import WORDS, sentence

pytestmark = [pytest.mark.usefixtures("fine_tuning"), pytest.mark.computes, pytest.mark.timeout(900)]

SPLITS = {"splits": {"train": 0.6, "val": 0.15, "test": 0.25}}
LABEL = {"good": "positive", "bad": "negative"}
SCHEMES: list[dict[str, Any]] = [
    {"annotation_type": "radio", "name": "sentiment", "description": "How is it?", "labels": list(LABEL.values())},
    {"annotation_type": "span", "name": "marks", "description": "Mark what is good.", "labels": ["good"]},
    {"annotation_type": "number", "name": "share", "description": "How good is it, from 0 to 1?"},
    {"annotation_type": "pairwise", "name": "better", "description": "Which is better?"},
    {"annotation_type": "text", "name": "word", "description": "In a word?"},
]
LEARNED: list[tuple[str, str, str, dict[str, Any], str, float]] = [
    # trainer, its base model, scheme, params, the score, what it exceeds; one that is below is an error
    ("sklearn-text", "", "sentiment", {}, "accuracy", 0.8),
    ("text-embedding", "schooled", "sentiment", {}, "accuracy", 0.8),
    ("hf-text-classification", "schooled", "sentiment", {"epochs": 3, "method": "lora"}, "accuracy", 0.8),
    ("hf-text-classification", "schooled", "share", {"epochs": 6}, "mae", -0.25),
    ("hf-token-classification", "schooled", "marks", {"epochs": 4}, "entity_f1", 0.8),
    ("hf-pairwise-preference", "schooled", "better", {"epochs": 3}, "accuracy", 0.8),
    ("hf-image-classification", "tiny_vit", "sentiment", {"epochs": 6}, "accuracy", 0.8),
    ("llm-finetune", "tiny_llm", "sentiment", {"epochs": 6, "max_length": 192}, "accuracy", 0.8),
    ("llm-finetune", "tiny_llm", "word", {"epochs": 10, "max_length": 192}, "exact_match", 0.8),
]


def item(number: int, pictures: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """An item that is easy to judge by its text, its picture and its pair of texts; and the answers to each scheme."""
    from PIL import Image

    chance = random.Random(number)
    kind = chance.choice(["good", "bad"])
    text = f"{sentence(chance, kind, kind)} {number}"
    tone = chance.randrange(160, 250) if kind == "good" else chance.randrange(10, 90)
    Image.new("L", (8, 8), tone).save(pictures / f"{number}.png")
    good, bad = sentence(chance, "good", "good"), sentence(chance, "bad", "bad")
    first = chance.random() < 0.5
    row = {"id": f"i{number}", "text": text, "image": f"pictures/{number}.png"}
    row |= {"text_a": good if first else bad, "text_b": bad if first else good}
    answers = {"sentiment": LABEL[kind], "share": float(kind == "good"), "better": "a" if first else "b", "word": kind}
    return row, {**answers, "marks": marks(text)}


def marks(text: str) -> list[dict[str, Any]]:
    """Every good word of the text."""
    found, start = [], 0
    for word in text.split(" "):
        if word in WORDS["good"]:
            found.append({"start": start, "end": start + len(word), "label": "good", "text": word})
        start += len(word) + 1
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """120 items with every answer, served, and an agent that works for it."""
    folder = tmp_path_factory.mktemp("through")
    (pictures := folder / "lab" / "pictures").mkdir(parents=True)
    made = [item(number, pictures) for number in range(120)]
    training = {"device": "cpu", "num_threads": 1, **SPLITS}
    lab = agent_lab(
        folder / "lab",
        items=[row for row, _ in made],
        labels={},
        heartbeat_timeout_s=120,
        model_training=training,
        project={"annotation_schemes": SCHEMES, "item_properties": {"image_key": "image"}},
    )
    for scheme in SCHEMES:
        name = scheme["name"]
        lab.label({row["id"]: answers[name] for row, answers in made}, scheme=name)
    with served(lab) as server, agent(server.url, token_for(lab), folder / "agent"):
        yield server


@pytest.mark.parametrize("backend", ["local", BACKEND])
@pytest.mark.parametrize(("trainer", "base", "scheme", "params", "score", "more"), LEARNED)
def test_a_project_trains_with_it_and_scores_it(
    server: Served,
    backend: str,
    trainer: str,
    base: str,
    scheme: str,
    params: dict[str, Any],
    score: str,
    more: float,
    request: pytest.FixtureRequest,
) -> None:
    if base:
        params = {"learning_rate": 5e-3, **params} if "epochs" in params else dict(params)
        params["base_model"] = str(request.getfixturevalue(base))
    run_id = server.submit(trainer, backend, scheme, **params)
    run = server.finished(run_id, 600)
    folder = server.lab.project.runs_dir / run_id
    assert run["state"] == "success", (run["error"], (folder / "stderr.log").read_text("utf-8", "replace")[-3000:])
    test = run["scores"][scheme]["test"]
    assert test["n"] > 15
    sign = -1 if score == "mae" else 1
    assert sign * test[score] > more, test
    assert run["backend"] == backend
    kept = folder / "artifacts" if backend == "local" else Path(run["artifact_uri"].partition(":")[2])
    assert (kept / f"1-{scheme}" / "potato.json").is_file()
