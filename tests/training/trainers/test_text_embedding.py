"""`text-embedding`: vectors of a sentence encoder, and a linear head on them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jobs import Item, held_out, task, write_bundle
from potato.training.trainers.base import Cancelled, Model, Task, TrainerError
from potato.training.trainers.hf import contrast
from potato.training.trainers.text_embedding import TextEmbedding
from sentences import KINDS, ODD, ODD_TEXTS, items, multilabel, nominal, ordinal, right

pytestmark = [
    pytest.mark.usefixtures("fine_tuning"),
    pytest.mark.computes,
    pytest.mark.filterwarnings("ignore"),  # what torch and transformers warn of among themselves
]

LABELS = ["bad", "good"]


def made(folder: Path, base: str, rows: list[Item], kind: str = "nominal", labels: Any = None, **params: Any) -> Task:
    write_bundle(folder, rows, {"s": (kind, LABELS if labels is None else labels)})
    return task(folder, "s", TextEmbedding.info, base_model=base, max_length=32, **params)


def fitted(
    folder: Path, base: str, rows: list[Item], kind: str = "nominal", labels: Any = None, **params: Any
) -> Model:
    return TextEmbedding().fit(made(folder, base, rows, kind, labels, **params))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("kind", KINDS)
def test_it_learns(tmp_path: Path, schooled: str, kind: str, pooling: str) -> None:
    make, labels = KINDS[kind]
    model = fitted(tmp_path, schooled, items(make), kind, labels, pooling=pooling)
    assert right(tmp_path, model) > 0.8  # always the same answer: at most 0.5


def test_contrast_makes_an_encoder_that_knows_nothing_tell_labels_apart(tmp_path: Path, tiny: str) -> None:
    rows = items(nominal, train=24)
    params = {"method": "contrastive", "epochs": 8, "learning_rate": 3e-3, "patience": 8}
    tuned = fitted(tmp_path / "tuned", tiny, rows, **params)
    frozen = fitted(tmp_path / "frozen", tiny, rows)
    assert right(tmp_path / "tuned", tuned) > max(0.8, right(tmp_path / "frozen", frozen) + 0.1)
    assert tuned.metrics()["epoch"] >= 1
    assert "epoch" not in frozen.metrics()


def test_pairs_are_as_alike_as_their_targets(tmp_path: Path, tiny: str) -> None:
    def alike(kind: str) -> dict[tuple[str, str], float]:
        make, labels = {
            "nominal": (nominal, LABELS),
            "multilabel": (multilabel, LABELS),
            "ordinal": (ordinal, list("135")),
        }[kind]
        the = made(tmp_path / kind, tiny, items(make, train=40), kind, labels, pairs=6)
        found = contrast.pairs(the)
        assert found == contrast.pairs(the)
        assert 200 <= len(found) <= 240
        assert all(one != other for one, other, _ in found)
        return {(str(the.train[a].targets["s"]), str(the.train[b].targets["s"])): share for a, b, share in found}

    assert alike("nominal")["good", "good"] == 1
    assert alike("nominal")["good", "bad"] == 0
    assert alike("ordinal")["1", "3"] == 0.5
    tags = alike("multilabel")
    assert tags["['bad', 'good']", "['bad']"] == 0.5
    assert tags["[]", "[]"] == 1
    assert tags["[]", "['good']"] == 0


def test_a_saved_model_says_the_same_in_a_fresh_process_by_its_librarys_own_calls(
    tmp_path: Path, schooled: str
) -> None:
    """annotation 45: names by the folder's own list."""
    model = fitted(tmp_path / "bundle", schooled, items(nominal))
    folder = tmp_path / "model"
    folder.mkdir()
    model.save(str(folder))
    test = held_out(tmp_path / "bundle", ["test"])
    program = """
import json, sys, skops.io, torch
from transformers import AutoModel, AutoTokenizer
tokenizer, encoder = AutoTokenizer.from_pretrained(sys.argv[1]), AutoModel.from_pretrained(sys.argv[1])
head = skops.io.load(sys.argv[1] + "/head.skops")
with torch.no_grad():
    inputs = [tokenizer(text, return_tensors="pt") for text in json.load(sys.stdin)]
    rows = [encoder(**one).last_hidden_state[0].mean(0) for one in inputs]
print(json.dumps(head.predict_proba(torch.nn.functional.normalize(torch.stack(rows)).numpy()).tolist()))
"""
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        input=json.dumps([one.text for one in test]).encode(),
        capture_output=True,
        check=True,
    )
    record = json.loads((folder / "potato.json").read_text("utf-8"))
    assert (record["classes"], record["base_model"], record["trainer"]) == (LABELS, schooled, "text-embedding")
    assert record["run"]
    for one, shares in zip(model.predict(test), json.loads(done.stdout), strict=True):
        assert one.probabilities == pytest.approx(dict(zip(record["classes"], shares, strict=True)), abs=1e-4)
    pooling = json.loads((folder / "1_Pooling" / "config.json").read_text("utf-8"))
    assert pooling["pooling_mode_mean_tokens"] is True


def test_without_val_the_usual_strength_is_taken(tmp_path: Path, schooled: str) -> None:
    """annotation 43"""
    model = fitted(tmp_path, schooled, items(nominal, val=0))
    assert model.metrics() == {"C": 3.0}
    assert right(tmp_path, model) > 0.8


def test_contrast_without_val_keeps_the_last_epoch(tmp_path: Path, tiny: str) -> None:
    model = fitted(tmp_path, tiny, items(nominal, val=0), method="contrastive", epochs=2, learning_rate=1e-3)
    assert model.metrics() == {"C": 3.0, "epoch": 2}


def test_texts_and_labels_of_every_kind_are_taken(tmp_path: Path, tiny: str) -> None:
    """annotation 21"""
    rows = [Item(f"t{n}", text, "train", {"s": ODD[n % len(ODD)]}) for n, text in enumerate(ODD_TEXTS * 2)]
    rows += [Item(f"p{n}", text, "predict") for n, text in enumerate(ODD_TEXTS)]
    for method in ("frozen", "contrastive"):
        model = fitted(tmp_path / method, tiny, rows, "nominal", ODD, method=method)
        assert all(one.payload in ODD for one in model.predict(held_out(tmp_path / method)))


def test_a_loss_that_is_no_number_any_more_ends_the_run(tmp_path: Path, tiny: str) -> None:
    """annotation 46"""
    with pytest.raises(TrainerError, match=r"the loss .* at step|not a number") as raised:
        fitted(tmp_path, tiny, items(nominal), method="contrastive", learning_rate=1e30)
    assert raised.value.code == "not_finite"


def test_batches_halve_when_memory_runs_out(tmp_path: Path, schooled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """annotation 55"""
    from transformers import BertModel

    real, sizes = BertModel.forward, []

    def forward(network: Any, input_ids: Any = None, **more: Any) -> Any:
        sizes.append(len(input_ids))
        if len(input_ids) > 5:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 99 bytes")
        return real(network, input_ids=input_ids, **more)

    monkeypatch.setattr(BertModel, "forward", forward)
    model = fitted(tmp_path, schooled, items(nominal))
    assert right(tmp_path, model) > 0.8
    assert max(sizes[10:]) <= 5


@pytest.mark.parametrize("method", ["frozen", "contrastive"])
def test_it_stops_within_a_batch(tmp_path: Path, tiny: str, method: str) -> None:
    the = made(tmp_path, tiny, items(nominal), method=method, batch_size=4)
    the.should_stop = lambda: sum(event[0] == "progress" for event in the.events) >= 20  # type: ignore[attr-defined]
    with pytest.raises(Cancelled):
        TextEmbedding().fit(the)
    assert sum(event[0] == "progress" for event in the.events) < 300  # type: ignore[attr-defined]


def test_one_seed_draws_the_same_pairs_and_another_others(tmp_path: Path, tiny: str) -> None:
    the = made(tmp_path, tiny, items(nominal))
    first = contrast.pairs(the)
    the.seed = 1
    assert contrast.pairs(the) != first
