"""Two projects on real data, from labels to what annotators are suggested: parts of addresses, handwritten digits."""

from __future__ import annotations

import hashlib
import html
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes
from conftest import sample
from lab import FAST, Lab, finished
from potato.app import create_app
from potato.store.training.runs import Run
from potato.training.runs.request import RunRequest

pytestmark = [pytest.mark.usefixtures("fine_tuning"), pytest.mark.computes, pytest.mark.timeout(900)]


def trained(lab: Lab, trainer: str, scheme: str, **params: Any) -> Run:
    """A run on this machine that has ended well."""
    with lab.supervisor(FAST) as supervisor:
        run_id = supervisor.submit(RunRequest(trainer, [scheme], params=params)).run_id
        run = finished(supervisor, run_id, 600)
    log = lab.project.runs_dir / run_id / "stderr.log"
    assert run.state.value == "success", (run.error, log.read_text("utf-8", "replace")[-3000:])
    return run


def pages(lab: Lab, run: Run, items: int) -> tuple[str, list[str]]:
    """The run's page, and the pages of the first items that an annotator gets."""
    with TestClient(create_app(lab.project), follow_redirects=False) as client:
        shown = client.get(f"/admin/training/runs/{run.run_id}", headers={"X-API-Key": "lab-key", **scenes.PAGE})
        assert shown.status_code == 200
        scenes.sign_in(client, "eve")
        met = []
        for _ in range(items):
            seq = scenes.hand_out(client)
            met.append(client.get(f"/annotate/{seq}", headers=scenes.PAGE).text)
            skipped = {"annotator": "eve", "reason": ""}
            client.post(f"/annotate/{seq}/skip", json=skipped, headers={"Sec-Fetch-Site": "same-origin"})
        return shown.text, met


def address(number: int, line: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """An American address, and its parts as spans."""
    text, spans = "", []
    for part in line:
        word = part.text or ""
        stripped = word.rstrip(",.; ")
        if stripped:
            place = {"start": len(text), "end": len(text) + len(stripped), "label": part.tag, "text": stripped}
            spans.append(place)
        text += word + (part.tail or " ")
    return {"id": f"a{number}", "text": text}, spans


def test_the_parts_of_real_addresses_are_learned_scored_and_suggested(tmp_path: Path, minilm: str) -> None:
    lines = ElementTree.parse(sample("usaddress") / "training" / "labeled.xml").getroot()
    made = [address(number, line) for number, line in enumerate(list(lines)[:160])]
    labels = sorted({span["label"] for _, spans in made for span in spans})
    parts = {"annotation_type": "span", "name": "parts", "description": "Mark its parts", "labels": labels}
    training = {
        "device": "cpu",
        "num_threads": 1,
        "splits": {"train": 0.7, "val": 0.1, "test": 0.2},
        "writeback": {"schemas": ["parts"], "include_unlabeled": True, "min_confidence": 0.0},
    }
    lab = Lab(tmp_path / "lab", [row for row, _ in made], annotation_schemes=[parts], model_training=training)
    lab.label({row["id"]: spans for row, spans in made[40:]}, "parts")  # the first 40 wait for an annotator
    lab.label({row["id"]: spans[:-1] for row, spans in made[40:80]}, "parts", "bob")
    run = trained(
        lab, "hf-token-classification", "parts", base_model=minilm, epochs=3, learning_rate=1e-3, max_length=64
    )
    score = run.scores["parts"]
    print(f"entity F1 {score['primary']['value']:.3f}, looked up {score['baseline']['entity_f1']:.3f}")
    assert score["primary"]["name"] == "entity_f1"
    assert score["primary"]["value"] > 0.5  # no span at all: 0
    assert 0 < score["baseline"]["entity_f1"] < score["primary"]["value"]
    assert 0.8 < score["agreement"]["raw"] < 1  # bob leaves out each last part
    written = run.writeback["by_scheme"]["parts"]["written"]
    assert written > 10
    page, met = pages(lab, run, 3)
    assert "Entity F1" in page
    assert "Of the spans that two annotators marked" in page
    suggested = [
        json.loads(html.unescape(found)) for each in met for found in re.findall(r'data-suggested="([^"]*)"', each)
    ]
    assert suggested
    texts = [row["text"] for row, _ in made]
    for spans in suggested:
        assert any(all(text[one["start"] : one["end"]] == one["text"] for one in spans) for text in texts)


def test_handwritten_digits_are_learned_shown_and_suggested(tmp_path: Path, tiny_vit: str) -> None:
    from PIL import Image
    from sklearn.datasets import load_digits

    data = load_digits()
    folder = tmp_path / "lab"
    (folder / "pictures").mkdir(parents=True)
    order = sorted(range(len(data.target)), key=lambda number: hashlib.sha256(b"%d" % number).digest())[:360]
    for number in order:
        Image.fromarray((data.images[number] * 15.9).astype("uint8")).save(folder / "pictures" / f"{number}.png")
    rows = [{"id": f"d{number}", "picture": f"pictures/{number}.png", "seen": "A digit"} for number in order]
    digit = {
        "annotation_type": "radio",
        "name": "digit",
        "description": "Which digit is it?",
        "labels": [str(digit) for digit in range(10)],
    }
    lab = Lab(
        folder,
        rows,
        annotation_schemes=[digit],
        item_properties={"image_key": "picture", "image_alt_key": "seen"},
        model_training={
            "device": "cpu",
            "num_threads": 1,
            "splits": {"train": 0.7, "val": 0.1, "test": 0.2},
            "writeback": {"schemas": ["digit"], "include_unlabeled": True, "min_confidence": 0.0},
        },
    )
    lab.label({f"d{number}": str(data.target[number]) for number in order[20:]}, "digit")
    run = trained(
        lab, "hf-image-classification", "digit", base_model=tiny_vit, epochs=10, learning_rate=3e-3, batch_size=32
    )
    print(f"accuracy {run.scores['digit']['test']['accuracy']:.3f}")
    assert run.scores["digit"]["test"]["accuracy"] > 0.3  # the commonest digit: 0.1
    page, met = pages(lab, run, 3)
    assert "Macro F1" in page
    assert any("The model suggests" in each for each in met)
    assert all('alt="A digit"' in each for each in met)
    with TestClient(create_app(lab.project)) as client:
        picture = client.get("/annotate/1/media/image", headers={"X-API-Key": "lab-key"})
    assert picture.headers["content-type"] == "image/png"
    assert picture.content == (folder / rows[0]["picture"]).read_bytes()
