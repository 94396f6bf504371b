"""Images in a bundle."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lab import Lab
from potato.training.bundle.build import build
from potato.training.bundle.media import reads_project
from potato.training.contract.bundle import Bundle
from potato.training.runs.request import RunRequest, TrainerDoesNotFit, resolve
from potato.training.trainers import registry

IMAGES = registry.get("hf-image-classification").info
TEXTS = registry.get("sklearn-text").info


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """60 items with an image each, of which two are the same; then one that is missing, one that is an address, one
    outside the project, and one without any."""
    folder = tmp_path / "lab"
    (folder / "pictures").mkdir(parents=True)
    rows = []
    for number in range(60):
        name = f"pictures/{number}.PNG"
        (folder / name).write_bytes(b"picture %d" % max(1, number))
        rows.append({"id": f"i{number}", "text": f"text {number}", "image": name})
    (tmp_path / "secret.png").write_bytes(b"not yours")
    odd = ["pictures/lost.png", "https://example.org/x.png", "../secret.png", None]
    rows += [{"id": f"odd{n}", "text": f"odd {n}", "image": image} for n, image in enumerate(odd)]
    made = Lab(folder, rows, item_properties={"image_key": "image"})
    made.label({row["id"]: ["positive", "negative"][n % 2] for n, row in enumerate(rows)})
    return made


def items(bundle: Bundle) -> dict[str, dict[str, str]]:
    return {item.id: dict(item.media) for split in ("train", "val", "test") for item in bundle.items(split)}


def test_images_lie_in_the_bundle_under_what_is_in_them(lab: Lab) -> None:
    folder = lab.folder / "bundle"
    built = build(lab.database, lab.project, IMAGES, ["sentiment"], folder)
    bundle = Bundle(str(folder))
    media = items(bundle)
    assert bundle.modality == "image"
    assert set(media) == {f"i{number}" for number in range(60)}
    for number in range(60):
        assert (folder / "media" / media[f"i{number}"]["image"]).read_bytes() == b"picture %d" % max(1, number)
    assert media["i0"] == media["i1"]
    assert len(list((folder / "media").iterdir())) == 59
    assert media["i5"]["image"].endswith(".png")
    assert "4 items were left out: their image is no file under task_dir" in built.warnings


def test_the_digest_is_of_the_images_too(lab: Lab) -> None:
    first = build(lab.database, lab.project, IMAGES, ["sentiment"], lab.folder / "one").digest
    assert build(lab.database, lab.project, IMAGES, ["sentiment"], lab.folder / "two").digest == first
    (lab.folder / "pictures" / "7.PNG").write_bytes(b"another")
    assert build(lab.database, lab.project, IMAGES, ["sentiment"], lab.folder / "three").digest != first


def test_a_trainer_of_texts_gets_no_images_and_every_item(lab: Lab) -> None:
    folder = lab.folder / "bundle"
    build(lab.database, lab.project, TEXTS, ["sentiment"], folder)
    assert not (folder / "media").exists()
    assert len(items(Bundle(str(folder)))) == 64
    assert json.loads((folder / "manifest.json").read_text("utf-8"))["modality"] == "text"


def test_a_project_without_images_refuses_a_trainer_of_images(tmp_path: Path, lab: Lab) -> None:
    plain = Lab(tmp_path / "plain", 5).project
    assert reads_project(IMAGES, lab.project)
    assert not reads_project(IMAGES, plain)
    with pytest.raises(TrainerDoesNotFit, match="learns from images, which the project's items do not have"):
        resolve(plain, RunRequest("hf-image-classification", ["sentiment"]))


def test_a_trainer_of_both_gets_texts_where_the_project_has_no_images(tmp_path: Path, lab: Lab) -> None:
    both = replace(IMAGES, modalities=("text", "image"))
    plain = Lab(tmp_path / "plain", 60)
    plain.label_alternately()
    folder = tmp_path / "bundle"
    build(plain.database, plain.project, both, ["sentiment"], folder)
    assert (Bundle(str(folder)).modality, len(items(Bundle(str(folder))))) == ("text", 60)
    build(lab.database, lab.project, both, ["sentiment"], folder)
    assert (Bundle(str(folder)).modality, len(items(Bundle(str(folder))))) == ("image", 60)
