"""`hf-text-classification`, over a BERT so small that it learns in seconds."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs import Item, Job, held_out, task, write_bundle
from potato.training.contract.exits import Exit
from potato.training.trainers.base import Cancelled, Model, Task, TrainerError
from potato.training.trainers.hf.batches import shuffled
from potato.training.trainers.hf_text_classification import HfTextClassification
from sentences import KINDS, ODD, ODD_TEXTS, items, nominal, right, sentence

pytestmark = [
    pytest.mark.usefixtures("fine_tuning"),
    pytest.mark.computes,
    pytest.mark.filterwarnings("ignore"),  # what torch, transformers and peft warn of among themselves
]

QUICK = {"epochs": 6, "learning_rate": 5e-3, "max_length": 32}
LABELS = ["bad", "good"]


def made(folder: Path, base: str, rows: list[Item], kind: str = "nominal", labels: Any = None, **params: Any) -> Task:
    write_bundle(folder, rows, {"s": (kind, LABELS if labels is None else labels)})
    return task(folder, "s", HfTextClassification.info, base_model=base, **{**QUICK, **params})


def fitted(
    folder: Path, base: str, rows: list[Item], kind: str = "nominal", labels: Any = None, **params: Any
) -> Model:
    return HfTextClassification().fit(made(folder, base, rows, kind, labels, **params))


def continuous(chance: random.Random) -> tuple[str, Any]:
    good = chance.randrange(4)
    return sentence(chance, *["good"] * good, *["bad"] * (3 - good)), 100.0 + 10 * good


@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_learns(tmp_path: Path, schooled: str, kind: str, method: str) -> None:
    make, labels = KINDS[kind]
    model = fitted(tmp_path, schooled, items(make), kind, labels, method=method, epochs=16)
    assert right(tmp_path, model) > (0.85 if method == "full" else 0.6)  # always the same answer: at most 0.5


def test_it_learns_numbers(tmp_path: Path, tiny: str) -> None:
    model = fitted(tmp_path, tiny, items(continuous), "continuous", [], epochs=12)
    test = held_out(tmp_path, ["test"])
    said = list(model.predict(test))
    off = sum(abs(one.payload - other.targets["s"]) for one, other in zip(said, test, strict=True)) / len(test)
    assert off < 5  # always saying the mean is off by 10
    assert {one.confidence for one in said} == {None}


@pytest.mark.parametrize("method", ["full", "lora"])
def test_a_saved_model_says_the_same_in_a_fresh_process_by_its_librarys_own_call(
    tmp_path: Path, tiny: str, method: str
) -> None:
    """annotation 45: names by the folder's own list."""
    model = fitted(tmp_path / "bundle", tiny, items(nominal), method=method)
    folder = tmp_path / "model"
    folder.mkdir()
    model.save(str(folder))
    test = held_out(tmp_path / "bundle", ["test"])
    program = """
import json, sys, torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForSequenceClassification.from_pretrained(sys.argv[1])
with torch.no_grad():
    logits = [model(**tokenizer(text, return_tensors="pt")).logits[0] for text in json.load(sys.stdin)]
print(json.dumps([[model.config.id2label[int(one.argmax())], float(one.softmax(-1).max())] for one in logits]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        input=json.dumps([one.text for one in test]).encode(),
        capture_output=True,
        check=True,
    )
    for one, (label, confidence) in zip(model.predict(test), json.loads(done.stdout), strict=True):
        assert (one.payload, one.confidence) == (label, pytest.approx(confidence, abs=1e-4))
    record = json.loads((folder / "potato.json").read_text("utf-8"))
    assert record["classes"] == LABELS
    assert record["base_model"] == tiny
    assert record["run"]
    assert (folder / "adapter" / "adapter_config.json").exists() == (method == "lora")


def test_the_best_epoch_on_val_is_kept_and_patience_ends_training(tmp_path: Path, tiny: str) -> None:
    """annotation 44: chosen on val, which is not the held-out set that is scored."""
    the = made(tmp_path, tiny, items(nominal), epochs=40, patience=2)
    model = HfTextClassification().fit(the)
    seen = [event for event in the.events if event[:2] == ("metric", "val")]  # type: ignore[attr-defined]
    f1 = [event[3] for event in seen if event[2] == "macro_f1"]
    loss = [event[3] for event in seen if event[2] == "loss"]
    best = max(range(len(f1)), key=lambda epoch: (f1[epoch], -loss[epoch]))
    assert model.metrics()["epoch"] == best + 1
    assert len(f1) == min(40, best + 3)
    val = held_out(tmp_path, ["val"])
    hits = sum(one.payload == other.targets["s"] for one, other in zip(model.predict(val), val, strict=True))
    assert model.metrics()["val_accuracy"] == pytest.approx(hits / len(val))


def test_without_val_the_last_epoch_is_kept(tmp_path: Path, tiny: str) -> None:
    """annotation 43"""
    model = fitted(tmp_path, tiny, items(nominal, val=0))
    assert model.metrics() == {"epoch": 6}
    assert right(tmp_path, model) > 0.85


def test_curves_and_progress_are_reported(tmp_path: Path, tiny: str) -> None:
    the = made(tmp_path, tiny, items(nominal), epochs=2)
    HfTextClassification().fit(the)
    events: list[Any] = the.events  # type: ignore[attr-defined]
    losses = [event[3] for event in events if event[:3] == ("metric", "train", "loss")]
    assert len(losses) == 20
    assert losses[-1] < losses[0]
    assert [event[1:] for event in events if event[0] == "progress"][-1] == ("training", 20, 20)


@pytest.mark.parametrize("rate", [1e6, 1e30])
def test_a_loss_that_is_no_number_any_more_ends_the_run(tmp_path: Path, tiny: str, rate: float) -> None:
    """annotation 46"""
    with pytest.raises(
        TrainerError, match=r"the loss .* at step \d+ of 60; the last good step was \d+\. Lower"
    ) as raised:
        fitted(tmp_path, tiny, items(nominal), learning_rate=rate)
    assert raised.value.code == "not_finite"


class Hungry:
    """Makes the network run out of memory above `most` items, as torch says it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, most: int, training: bool) -> None:
        from transformers import BertForSequenceClassification

        real = BertForSequenceClassification.forward
        self.sizes: list[int] = []

        def forward(network: Any, input_ids: Any = None, **more: Any) -> Any:
            if network.training == training:
                self.sizes.append(len(input_ids))
                if len(input_ids) > most:
                    raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 99 bytes")
            return real(network, input_ids=input_ids, **more)

        monkeypatch.setattr(BertForSequenceClassification, "forward", forward)


@pytest.mark.parametrize("training", [True, False])
def test_batches_halve_when_memory_runs_out(
    tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch, training: bool
) -> None:
    """annotation 55"""
    hungry = Hungry(monkeypatch, 5, training)
    the = made(tmp_path, tiny, items(nominal))
    model = HfTextClassification().fit(the)
    assert right(tmp_path, model) > 0.85
    assert max(hungry.sizes[10:]) <= 5
    warned = [event[2] for event in the.events if event[:2] == ("log", "warning")]  # type: ignore[attr-defined]
    what = "training" if training else "predicting"
    assert warned[-1] == f"out of memory while {what}: going on with batches of 4"


def test_when_not_even_one_item_fits_that_is_said(tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Hungry(monkeypatch, 0, True)
    with pytest.raises(MemoryError, match=r"not even one item fits while training: .*DefaultCPUAllocator"):
        fitted(tmp_path, tiny, items(nominal))


def test_a_halved_batch_has_the_same_gradient(tmp_path: Path, tiny: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from transformers import BertConfig

    config = BertConfig.from_pretrained(tiny)
    assert config.hidden_dropout_prob  # the dropout is switched off, so that only the batches differ
    folder = tmp_path / "dry"
    from transformers import AutoModel, AutoTokenizer

    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    network = AutoModel.from_pretrained(tiny)
    network.config.hidden_dropout_prob = network.config.attention_probs_dropout_prob = 0.0
    network.save_pretrained(folder)
    torch.manual_seed(0)
    whole = fitted(tmp_path / "whole", str(folder), items(nominal), epochs=1)
    Hungry(monkeypatch, 4, True)
    halved = fitted(tmp_path / "halved", str(folder), items(nominal), epochs=1)
    test = held_out(tmp_path / "whole")
    for one, other in zip(whole.predict(test), halved.predict(test), strict=True):
        assert one.confidence == pytest.approx(other.confidence, abs=1e-3)


def test_it_stops_within_a_step(tmp_path: Path, tiny: str) -> None:
    the = made(tmp_path, tiny, items(nominal), epochs=1000, patience=1000)
    the.should_stop = lambda: sum(event[0] == "progress" for event in the.events) >= 5  # type: ignore[attr-defined]
    with pytest.raises(Cancelled):
        HfTextClassification().fit(the)
    assert sum(event[0] == "progress" for event in the.events) == 5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("/nowhere/at/all", "the base model folder '/nowhere/at/all' does not exist"),
        ("", "param 'base_model' is empty"),
        ("{empty}", "holds no config.json"),
        ("{corrupt}", "the base model '.*' cannot be loaded: "),
        ("{vision}", "the base model '.*' cannot be loaded: "),
    ],
)
def test_a_base_model_that_cannot_be_had_is_a_sentence(tmp_path: Path, tiny: str, base: str, said: str) -> None:
    for name in ("empty", "corrupt", "vision"):
        (tmp_path / name).mkdir()
    for file in Path(tiny).iterdir():
        for name in ("corrupt", "vision"):
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    (tmp_path / "corrupt" / "model.safetensors").write_bytes(b"\x10" * 1000)
    (tmp_path / "vision" / "config.json").write_text('{"model_type": "vit"}')
    folder = base.format(**{name: tmp_path / name for name in ("empty", "corrupt", "vision")})
    with pytest.raises(TrainerError, match=said) as raised:
        fitted(tmp_path / "bundle", folder, items(nominal))
    assert raised.value.code == "base_model"
    assert "\n" not in str(raised.value)


def test_a_hub_name_that_cannot_be_reached_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fine_tuning: None
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(TrainerError, match=r"^the base model 'nobody/has-this' cannot be loaded: "):
        fitted(tmp_path, "nobody/has-this", items(nominal))


def test_texts_and_labels_of_every_kind_are_taken(tmp_path: Path, tiny: str) -> None:
    """annotation 21"""
    rows = [Item(f"t{n}", text, "train", {"s": ODD[n % len(ODD)]}) for n, text in enumerate(ODD_TEXTS * 2)]
    rows += [Item(f"p{n}", text, "predict") for n, text in enumerate(ODD_TEXTS)]
    model = fitted(tmp_path / "bundle", tiny, rows, "nominal", ODD, epochs=1)
    for one in model.predict(held_out(tmp_path / "bundle")):
        assert one.payload in ODD
        assert math.isclose(sum((one.probabilities or {}).values()), 1, abs_tol=1e-4)
    (tmp_path / "model").mkdir()
    model.save(str(tmp_path / "model"))
    names = json.loads((tmp_path / "model" / "config.json").read_text("utf-8"))["id2label"]
    assert list(names.values()) == ODD


def test_one_class_is_refused_before_any_library_is_imported(tmp_path: Path, tiny: str) -> None:
    """annotation 40"""
    with pytest.raises(TrainerError, match="nothing to tell apart"):
        fitted(tmp_path, tiny, items(lambda chance: ("good", "good")))


@pytest.mark.parametrize("method", ["full", "lora"])
def test_one_seed_gives_the_same_predictions_and_another_others(tmp_path: Path, tiny: str, method: str) -> None:
    """annotation 45: in processes of their own, whatever their hash seed."""
    params = {"base_model": tiny, **QUICK, "epochs": 3, "method": method}

    def bytes_of(name: str, seed: int, hash_seed: str) -> bytes:
        bundle = write_bundle(tmp_path / name / "bundle", items(nominal), {"s": ("nominal", LABELS)})
        job = Job(tmp_path / name, bundle, "hf-text-classification", ["s"], params, {"seed": seed}).write()
        assert job.run(PYTHONHASHSEED=hash_seed) == Exit.FINISHED, job.stderr()
        return (job.work / "predictions.jsonl").read_bytes()

    first = bytes_of("1", 7, "1")
    assert bytes_of("2", 7, "2") == first
    if method == "full":
        assert bytes_of("3", 8, "1") != first


def test_every_item_is_trained_on_once_an_epoch_in_another_order() -> None:
    lengths = [number % 37 for number in range(100)]
    first, second = shuffled(lengths, 8, 1), shuffled(lengths, 8, 2)
    for batches in (first, second):
        assert sorted(position for batch in batches for position in batch) == list(range(100))
        assert max(map(len, batches)) == 8
    assert first != second
    assert first == shuffled(lengths, 8, 1)
