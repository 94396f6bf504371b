"""What every trainer must do, whatever it trains."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import missing
from jobs import Job, environment, held_out
from lab import wait_for
from potato.training.contract.exits import Exit
from potato.training.trainers import provenance, registry
from potato.training.trainers.base import Cancelled, Model, TrainerError
from potato.training.worker.artifacts import Artifacts
from potato.training.worker.failures import explain
from potato.training.worker.stop import Stop
from sentences import right
from trainer_scenes import SCENES, Scene

pytestmark = [
    pytest.mark.usefixtures("fine_tuning"),
    pytest.mark.computes,
    pytest.mark.filterwarnings("ignore"),  # what libraries warn of among themselves
]

BASED = [scene for scene in SCENES if scene.base]


def name(scene: Scene) -> str:
    return scene.trainer


def base_of(scene: Scene, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(scene.base)) if scene.base else ""


def test_no_trainer_is_left_out() -> None:
    """But for those that only calibrate what another has learned."""
    learning = [name for name in registry.names() if not registry.get(name).info.calibrates_live]
    assert [scene.trainer for scene in SCENES] == learning


@pytest.mark.parametrize("scene", SCENES, ids=name)
def test_it_beats_the_commonest_answer_and_one_seed_gives_the_same_predictions(
    tmp_path: Path, scene: Scene, request: pytest.FixtureRequest
) -> None:
    """annotation 45: in this process and in a worker's, which hashes text in another way."""
    base, folder = base_of(scene, request), tmp_path / "bundle"
    scene.bundle(folder)
    model = scene.get().fit(scene.task(folder, base))
    assert right(folder, model) > 0.8  # always the same answer: at most 0.6
    params = {**scene.params, **({"base_model": base} if base else {})}
    job = Job(tmp_path / "job", str(folder), scene.trainer, ["s"], params).write()
    assert job.run(PYTHONHASHSEED="1") == Exit.FINISHED, job.stderr()
    assert job.predictions() == list(model.predict(held_out(folder)))


@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene.kind == "nominal"], ids=name)
def test_with_the_projects_labels_reversed_names_do_not_move(
    tmp_path: Path, scene: Scene, request: pytest.FixtureRequest
) -> None:
    """annotation 45"""
    base = base_of(scene, request)
    scene.bundle(tmp_path, scene.labels[::-1])
    model = scene.get().fit(scene.task(tmp_path, base))
    assert right(tmp_path, model) > 0.8
    for one in model.predict(held_out(tmp_path)):
        assert one.probabilities is not None
        assert one.probabilities[one.payload] == max(one.probabilities.values())


class Fitted:
    """A fitted model, and the task that it was fitted for."""

    def __init__(self, scene: Scene, folder: Path, base: str) -> None:
        self.task = scene.task(scene.bundle(folder), base, **({"epochs": 1} if "epochs" in scene.params else {}))
        self.model: Model = scene.get().fit(self.task)
        self.items = held_out(folder)


@pytest.fixture(params=SCENES, ids=name)
def fitted(tmp_path: Path, request: pytest.FixtureRequest) -> Fitted:
    return Fitted(request.param, tmp_path / "bundle", base_of(request.param, request))


def test_it_stops_in_the_middle_of_predicting_and_of_saving_and_nothing_half_saved_looks_whole(
    tmp_path: Path, fitted: Fitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """annotation 50"""
    stop = Stop()
    before = signal.signal(signal.SIGTERM, stop.handle)
    real = provenance.write_json

    def killed(path: str, value: Any) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        real(path, value)

    monkeypatch.setattr(provenance, "write_json", killed)
    try:
        with pytest.raises(Cancelled), stop.raising():
            Artifacts(str(tmp_path / "artifacts"), lambda path, size: None).save("s", 1, fitted.model)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert list((tmp_path / "artifacts").iterdir()) == []
    fitted.task.should_stop = lambda: True
    with pytest.raises(Cancelled):
        list(fitted.model.predict(fitted.items))


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder with room for a few files alone."""
    folder = tmp_path / "full"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        missing("the right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_is_full_is_a_sentence_and_leaves_nothing(fitted: Fitted, full_disk: Path) -> None:
    with pytest.raises(Exception, match="No space left on device") as raised:
        Artifacts(str(full_disk), lambda path, size: None).save("s", 1, fitted.model)
    failure = explain(raised.value, "any")
    assert (failure.exit, failure.code) == (Exit.TRAINER_FAILED, "disk_full")
    assert failure.message.startswith("The disk is full")
    assert list(full_disk.iterdir()) == []


@pytest.mark.parametrize("scene", BASED, ids=name)
def test_a_base_model_that_cannot_be_had_is_a_sentence(
    tmp_path: Path, scene: Scene, request: pytest.FixtureRequest
) -> None:
    base, bundle = base_of(scene, request), scene.bundle(tmp_path / "bundle")
    corrupt, foreign, empty = (tmp_path / name for name in ("corrupt", "foreign", "empty"))
    empty.mkdir()
    shutil.copytree(base, corrupt)
    (corrupt / "model.safetensors").write_bytes(b"\x10" * 1000)
    other = "tiny_llm" if scene.base != "tiny_llm" else "tiny"
    shutil.copytree(str(request.getfixturevalue(other)), foreign)
    shutil.copy(Path(base) / "config.json", foreign / "config.json")
    for folder, said in {
        "/nowhere/at/all": "does not exist",
        str(empty): "holds no config.json",
        str(corrupt): "cannot be loaded: ",
        str(foreign): "cannot be loaded: |is of another kind: it lacks ",
    }.items():
        with pytest.raises(TrainerError, match=said) as raised:
            scene.get().fit(scene.task(bundle, folder))
        assert raised.value.code == "base_model"
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("scene", SCENES, ids=name)
def test_one_kind_of_answer_is_nothing_to_learn_from(
    tmp_path: Path, scene: Scene, request: pytest.FixtureRequest
) -> None:
    """annotation 40"""
    only = {"span": [], "pairwise": "tie"}.get(scene.kind, "good")
    rows = [dataclasses.replace(item, targets={"s": only}) for item in scene.items(tmp_path)]
    alike = dataclasses.replace(scene, items=lambda folder: rows)
    with pytest.raises(TrainerError) as raised:
        scene.get().fit(alike.task(alike.bundle(tmp_path), base_of(scene, request)))
    assert raised.value.code == "one_class"
    assert explain(raised.value, scene.trainer).exit == Exit.TRAINER_FAILED


@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene.kind == "nominal"], ids=name)
def test_a_label_with_one_item_and_no_val_items_are_no_hindrance(
    tmp_path: Path, scene: Scene, request: pytest.FixtureRequest
) -> None:
    """annotation 39, 43"""
    rows = [item for item in scene.items(tmp_path) if item.split != "val"]
    rows[0] = dataclasses.replace(rows[0], targets={"s": "mixed"})
    rare = dataclasses.replace(scene, items=lambda folder: rows, labels=[*scene.labels, "mixed"])
    model = scene.get().fit(rare.task(rare.bundle(tmp_path), base_of(scene, request)))
    assert {len(one.probabilities or {}) for one in model.predict(held_out(tmp_path))} == {3}
    assert not any(key.startswith("val_") for key in model.metrics())


@pytest.mark.parametrize("scene", [scene for scene in SCENES if scene.kind == "nominal"][:-1], ids=name)
def test_500_labels_are_taken(tmp_path: Path, scene: Scene, request: pytest.FixtureRequest) -> None:
    """That of a language model, which is asked differently then, is tested beside it."""
    labels = [f"label {number}" for number in range(500)]
    given = [item for item in scene.items(tmp_path) if item.split == "train"]
    rows = [
        dataclasses.replace(given[number % len(given)], id=str(number), targets={"s": label})
        for number, label in enumerate(labels)
    ]
    rows.append(dataclasses.replace(rows[7], id="asked", split="predict"))
    many = dataclasses.replace(scene, items=lambda folder: rows, labels=labels)
    quick = {"epochs": 1} if "epochs" in scene.params else {}
    model = scene.get().fit(many.task(many.bundle(tmp_path), base_of(scene, request), **quick))
    [said] = model.predict(held_out(tmp_path))
    assert list(said.probabilities or {}) == labels


def test_pairs_of_empty_and_very_long_texts_are_taken(tmp_path: Path, schooled: str) -> None:
    [scene] = [scene for scene in SCENES if scene.kind == "pairwise"]
    sides = ["", " ", "great " * 20_000, "\0", "😀"]
    rows = [
        dataclasses.replace(item, fields={"text_a": sides[number % 5], "text_b": sides[(number + 1) % 5]})
        for number, item in enumerate(scene.items(tmp_path)[:40])
    ]
    odd = dataclasses.replace(
        scene, items=lambda folder: [*rows, dataclasses.replace(rows[0], id="asked", split="predict")]
    )
    model = scene.get().fit(odd.task(odd.bundle(tmp_path), schooled, epochs=1))
    assert [one.instance_id for one in model.predict(held_out(tmp_path))] == ["asked"]


@pytest.mark.parametrize("trainer", ["text-embedding", "hf-token-classification", "llm-finetune"])
def test_a_worker_leaves_fitting_when_it_is_told(tmp_path: Path, trainer: str, request: pytest.FixtureRequest) -> None:
    """annotation 50"""
    [scene] = [scene for scene in SCENES if scene.trainer == trainer]
    slow = {"method": "contrastive"} if trainer == "text-embedding" else {}
    params = {**scene.params, "base_model": base_of(scene, request), "epochs": 1000, "patience": 1000, **slow}
    job = Job(tmp_path / "job", str(scene.bundle(tmp_path / "bundle")), trainer, ["s"], params).write()
    command = [sys.executable, "-m", "potato.training.worker", job.spec_path]
    with (job.work / "stderr.log").open("wb") as log:
        worker = subprocess.Popen(command, cwd=job.work, env=environment(), stdout=subprocess.DEVNULL, stderr=log)
    try:
        wait_for(lambda: [event for event in job.events("progress") if event.fields["phase"] == "training"], 120)
        worker.terminate()
        assert worker.wait(60) == Exit.CANCELLED  # alone on a machine, well within five seconds
    finally:
        worker.kill()
        worker.wait()
    assert list((job.work / "artifacts").iterdir()) == []
    assert not (job.work / "predictions.jsonl").exists()
