"""`sklearn-text`: what it learns, what it keeps, and what it says of labels that are odd."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs import SOURCE, Item, Job, environment, held_out, task, write_bundle
from potato.training.contract.exits import Exit
from potato.training.contract.predictions import Prediction
from potato.training.trainers.base import Cancelled, Model, Task, TrainerError
from potato.training.trainers.sklearn_text import SklearnText
from sentences import KINDS, ODD, ODD_TEXTS, items, nominal, right, sentence

pytest.importorskip("sklearn")


def fitted(folder: Path, rows: list[Item], kind: str, labels: list[str], **params: Any) -> tuple[Model, Task]:
    write_bundle(folder, rows, {"s": (kind, labels)})
    made = task(folder, "s", SklearnText.info, **params)
    return SklearnText().fit(made), made


@pytest.mark.parametrize("kind", KINDS)
def test_it_learns(tmp_path: Path, kind: str) -> None:
    make, labels = KINDS[kind]
    model, _ = fitted(tmp_path, items(make), kind, labels)
    assert right(tmp_path, model) > 0.85
    assert model.metrics()["val_loss"] < 0.6


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_says_the_same_by_its_librarys_own_call(tmp_path: Path, kind: str) -> None:
    """annotation 45: by the class list that is saved with it."""
    import skops.io

    make, labels = KINDS[kind]
    model, made = fitted(tmp_path / "bundle", items(make), kind, labels)
    folder = tmp_path / "model"
    folder.mkdir()
    model.save(str(folder))
    assert skops.io.get_untrusted_types(file=folder / "model.skops") == []
    pipeline = skops.io.load(folder / "model.skops")
    record = json.loads((folder / "potato.json").read_text("utf-8"))
    assert record["classes"] == list(made.schema.classes)
    assert (record["trainer"], record["run"], record["scheme"]) == ("sklearn-text", made.run_id, "s")
    test = held_out(tmp_path / "bundle")
    shares = pipeline.predict_proba([one.text for one in test])
    for row, prediction in zip(shares.tolist(), model.predict(test), strict=True):
        assert prediction.probabilities == pytest.approx(dict(zip(record["classes"], row, strict=True)), abs=1e-6)


def test_the_smallest_log_loss_on_val_chooses_how_closely_it_fits(tmp_path: Path) -> None:
    """Answers tie on easy data; then the model with honest confidences is taken."""
    model, made = fitted(tmp_path, items(nominal), "nominal", ["bad", "good"])
    losses = [event[3] for event in made.events if event[:3] == ("metric", "val", "loss")]  # type: ignore[attr-defined]
    assert len(losses) == 5
    assert model.metrics()["val_loss"] == min(losses)


def test_without_enough_val_items_the_usual_strength_is_taken(tmp_path: Path) -> None:
    """annotation 43"""
    model, _ = fitted(tmp_path, items(nominal, val=0), "nominal", ["bad", "good"])
    assert model.metrics() == {"C": 3.0}
    assert right(tmp_path, model) > 0.85


def test_a_strength_that_is_given_is_taken(tmp_path: Path) -> None:
    model, _ = fitted(tmp_path, items(nominal), "nominal", ["bad", "good"], C=0.5, class_weight="none")
    assert model.metrics()["C"] == 0.5


def test_one_class_is_nothing_to_tell_apart(tmp_path: Path) -> None:
    """annotation 40"""
    with pytest.raises(TrainerError, match="nothing to tell apart: every one of them is 'good'") as raised:
        fitted(tmp_path, items(lambda chance: ("text", "good")), "nominal", ["bad", "good"])
    assert raised.value.code == "one_class"


@pytest.mark.parametrize("counts", [{"a": 50, "b": 50, "c": 1}, {"a": 2, "b": 2}, {"a": 1, "b": 1}])
def test_a_class_with_a_single_item_is_trained_on(tmp_path: Path, counts: dict[str, int]) -> None:
    """annotation 39"""
    targets = [label for label, count in counts.items() for _ in range(count)]
    rows = [Item(str(n), f"word{label} and more {n}", "train", {"s": label}) for n, label in enumerate(targets)]
    rows.append(Item("t", "worda", "test", {"s": "a"}))
    model, _ = fitted(tmp_path, rows, "nominal", list(counts))
    (prediction,) = model.predict(held_out(tmp_path))
    assert prediction.payload == "a"
    assert prediction.probabilities is not None
    assert list(prediction.probabilities) == list(counts)


def test_many_labels_of_which_each_item_has_one_stay_multilabel(tmp_path: Path) -> None:
    """annotation 42: the kind comes from the project, never from the data."""

    def one_each(chance: random.Random) -> tuple[str, Any]:
        text, label = nominal(chance)
        return text, [label]

    model, _ = fitted(tmp_path, items(one_each), "multilabel", ["bad", "good"])
    assert all(isinstance(one.payload, list) for one in model.predict(held_out(tmp_path)))


def test_an_item_without_any_label_is_a_valid_negative(tmp_path: Path) -> None:
    """annotation 42"""

    def few(chance: random.Random) -> tuple[str, Any]:
        return (sentence(chance, "good"), ["good"]) if chance.random() < 0.4 else (sentence(chance, "bad"), [])

    model, _ = fitted(tmp_path, items(few), "multilabel", ["bad", "good"])
    assert right(tmp_path, model) > 0.85
    assert [] in [one.payload for one in model.predict(held_out(tmp_path))]


def test_a_label_that_every_training_item_has_is_predicted_and_saved(tmp_path: Path) -> None:
    import skops.io

    def always(chance: random.Random) -> tuple[str, Any]:
        text, label = nominal(chance)
        return text, ["always", *(["good"] if label == "good" else [])]

    model, _ = fitted(tmp_path / "bundle", items(always), "multilabel", ["always", "good"])
    assert right(tmp_path / "bundle", model) > 0.85
    (tmp_path / "model").mkdir()
    model.save(str(tmp_path / "model"))
    trusted = json.loads((tmp_path / "model" / "potato.json").read_text("utf-8"))["skops_trusted"]
    assert trusted == ["sklearn.multiclass._ConstantPredictor"]
    shares = skops.io.load(tmp_path / "model" / "model.skops", trusted=trusted).predict_proba(["a lovely day"])
    assert shares[0].tolist()[0] == 1


def test_any_label_name_works(tmp_path: Path) -> None:
    """annotation 21"""

    def odd(chance: random.Random) -> tuple[str, Any]:
        number = chance.randrange(len(ODD))
        return f"{sentence(chance, 'good')} number{number}", ODD[number]

    model, _ = fitted(tmp_path, items(odd, train=200), "nominal", ODD)
    assert right(tmp_path, model) > 0.85
    for prediction in model.predict(held_out(tmp_path)):
        assert json.loads(prediction.line())["payload"] in ODD


def test_five_hundred_labels_work(tmp_path: Path) -> None:
    rows = [Item(f"{n}", f"word{n % 500} and filler", "train", {"s": f"label {n % 500}"}) for n in range(1000)]
    rows.append(Item("t", "word77 and filler", "test", {"s": "label 77"}))
    model, _ = fitted(tmp_path, rows, "nominal", [f"label {n}" for n in range(500)], C=10.0)
    assert [one.payload for one in model.predict(held_out(tmp_path))] == ["label 77"]


def test_texts_of_every_kind_are_taken(tmp_path: Path) -> None:
    rows = [*items(nominal), *(Item(f"odd{n}", text, "train", {"s": "bad"}) for n, text in enumerate(ODD_TEXTS))]
    rows += [Item(f"say{n}", text, "predict") for n, text in enumerate(ODD_TEXTS)]
    model, _ = fitted(tmp_path / "bundle", rows, "nominal", ["bad", "good"])
    said = list(model.predict(held_out(tmp_path / "bundle", ["predict"])))
    assert len(said) == len(ODD_TEXTS)
    (tmp_path / "model").mkdir()
    model.save(str(tmp_path / "model"))


def test_texts_without_a_word_are_told_apart_by_their_characters(tmp_path: Path) -> None:
    model, _ = fitted(
        tmp_path, items(lambda chance: chance.choice([("😀😀", "good"), ("💩!", "bad")])), "nominal", ["bad", "good"]
    )
    assert right(tmp_path, model) == 1


def test_no_text_at_all_is_a_sentence(tmp_path: Path) -> None:
    rows = [Item(str(n), " ", "train", {"s": label}) for n, label in enumerate(["a", "b"] * 5)]
    with pytest.raises(TrainerError, match="the training items of 's' hold no text to learn from"):
        fitted(tmp_path, rows, "nominal", ["a", "b"])


def test_it_stops_when_it_is_told(tmp_path: Path) -> None:
    write_bundle(tmp_path, items(nominal), {"s": ("nominal", ["bad", "good"])})
    made = task(tmp_path, "s", SklearnText.info)
    made.should_stop = lambda: True
    with pytest.raises(Cancelled):
        SklearnText().fit(made)


def predicted(folder: Path, labels: list[str], hash_seed: str) -> list[Prediction]:
    """What the worker, a process of its own, says of a bundle whose labels stand in this order."""
    bundle = write_bundle(folder / "bundle", items(nominal), {"s": ("nominal", labels)})
    job = Job(folder, bundle, "sklearn-text", ["s"]).write()
    assert job.run(PYTHONHASHSEED=hash_seed) == Exit.FINISHED, job.stderr()
    return job.predictions()


@pytest.mark.computes
def test_one_seed_gives_the_same_bytes_and_reversed_labels_the_same_names(tmp_path: Path) -> None:
    """annotation 45"""
    first = predicted(tmp_path / "1", ["bad", "good"], "1")
    again = predicted(tmp_path / "2", ["bad", "good"], "2")
    assert first == again
    files = [(tmp_path / name / "work" / "predictions.jsonl").read_bytes() for name in ("1", "2")]
    assert files[0] == files[1]
    reversed_ = predicted(tmp_path / "3", ["good", "bad"], "3")
    assert [(one.instance_id, one.payload) for one in first] == [(one.instance_id, one.payload) for one in reversed_]
    program = f"import skops.io; print(skops.io.load({str(tmp_path / '3/work/artifacts/1-s/model.skops')!r}).classes_)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, cwd=SOURCE)
    assert done.stdout.strip() == b"[0 1]"


@pytest.mark.computes
def test_predicting_ten_thousands_of_items_takes_no_more_memory_than_a_few(tmp_path: Path) -> None:
    """annotation 55"""
    few, many = peak_mb(tmp_path / "few", 200), peak_mb(tmp_path / "many", 60_000)
    assert many < few + 25  # held in memory, they would take ten times that


_MEASURED = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdout=2)
_, status, usage = os.wait4(child.pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Starts a command and prints its peak in KiB. A process of its own does it, for a child's peak begins with its
parent's, and a test runner that has loaded torch holds more than any worker."""


def peak_mb(folder: Path, count: int) -> float:
    """The most memory that a worker held which predicts `count` items."""
    chance = random.Random(1)
    asked = [Item(f"p{number}", f"{sentence(chance, 'good')} {number}", "predict") for number in range(count)]
    bundle = write_bundle(folder / "bundle", [*items(nominal), *asked], {"s": ("nominal", ["bad", "good"])})
    job = Job(folder / "job", bundle, "sklearn-text", ["s"]).write()
    command = [sys.executable, "-c", _MEASURED, sys.executable, "-m", "potato.training.worker", job.spec_path]
    with (job.work / "stderr.log").open("wb") as log:
        done = subprocess.run(command, cwd=job.work, env=environment(), stdout=subprocess.PIPE, stderr=log, check=False)
    assert done.returncode == Exit.FINISHED, job.stderr()
    assert len(job.predictions()) == count + 64
    return int(done.stdout) / 1024
