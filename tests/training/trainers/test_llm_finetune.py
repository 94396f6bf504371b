"""`llm-finetune`, over a Llama so small that it learns in seconds."""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from jobs import Item, held_out, task, write_bundle
from potato.training.contract.bundle import SchemaInfo
from potato.training.trainers.base import Cancelled, Model, PackageNeeded, ParamError, Task, TrainerError
from potato.training.trainers.hf import quantization
from potato.training.trainers.hf.prompts import Prompts
from potato.training.trainers.llm_finetune import LlmFinetune
from sentences import KINDS, ODD, ODD_TEXTS, items, nominal, right, sentence

pytestmark = [
    pytest.mark.usefixtures("fine_tuning"),
    pytest.mark.computes,
    pytest.mark.filterwarnings("ignore"),  # what torch, transformers and peft warn of among themselves
]

QUICK = {"epochs": 3, "learning_rate": 5e-3, "max_length": 256}
LABELS = ["bad", "good"]


def made(folder: Path, base: str, rows: list[Item], kind: str = "nominal", labels: Any = None, **params: Any) -> Task:
    write_bundle(folder, rows, {"s": (kind, LABELS if labels is None else labels)})
    return task(folder, "s", LlmFinetune.info, base_model=base, **{**QUICK, **params})


def fitted(
    folder: Path, base: str, rows: list[Item], kind: str = "nominal", labels: Any = None, **params: Any
) -> Model:
    return LlmFinetune().fit(made(folder, base, rows, kind, labels, **params))


def written(chance: random.Random) -> tuple[str, Any]:
    label = chance.choice(["good", "bad"])
    return sentence(chance, label), f"{label} day"


def test_it_learns_labels(tmp_path: Path, tiny_llm: str) -> None:
    model = fitted(tmp_path, tiny_llm, items(nominal))
    assert right(tmp_path, model) > 0.85  # always the same answer: at most 0.65


def test_it_learns_which_labels_apply(tmp_path: Path, tiny_llm: str) -> None:
    make, labels = KINDS["multilabel"]
    model = fitted(tmp_path, tiny_llm, items(make, train=100), "multilabel", labels, epochs=8, patience=8)
    assert right(tmp_path, model) > 0.45  # always the same answer: at most 0.3


def test_it_learns_to_write(tmp_path: Path, tiny_llm: str) -> None:
    model = fitted(tmp_path, tiny_llm, items(written), "text", [], max_new_tokens=8)
    assert right(tmp_path, model) > 0.85
    assert {one.confidence for one in model.predict(held_out(tmp_path, ["test"]))} == {None}
    assert model.metrics()["val_loss"] < 1


@pytest.mark.parametrize("save", ["adapter", "merged"])
def test_a_saved_model_answers_alike_in_a_fresh_process_by_its_librarys_own_call(
    tmp_path: Path, tiny_llm: str, save: str
) -> None:
    """annotation 45: names by the folder's own list."""
    model = fitted(tmp_path / "bundle", tiny_llm, items(nominal, test=8), save=save)
    folder = tmp_path / "model"
    folder.mkdir()
    model.save(str(folder))
    record = json.loads((folder / "potato.json").read_text("utf-8"))
    assert (record["classes"], record["base_model"], record["quantization"]) == (LABELS, tiny_llm, "none")
    test = held_out(tmp_path / "bundle", ["test"])
    program = """
import json, sys
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer, model = AutoTokenizer.from_pretrained(sys.argv[1]), AutoModelForCausalLM.from_pretrained(sys.argv[1])
def answer(prompt):
    tokens = tokenizer(prompt, return_tensors="pt", return_token_type_ids=False)
    found = model.generate(**tokens, max_new_tokens=4, do_sample=False)[0][tokens["input_ids"].shape[1]:]
    return tokenizer.decode(found, skip_special_tokens=True).strip()
print(json.dumps([answer(prompt) for prompt in json.load(sys.stdin)]))
"""
    asked = record["prompt"].replace("{description}", "").replace("{labels}", ", ".join(LABELS))
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        input=json.dumps([asked.replace("{text}", one.text) for one in test]).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout) == [one.payload for one in model.predict(test)]
    assert (folder / "adapter_config.json").exists() == (save == "adapter")


class Schema:
    """Just enough of a task for prompts."""

    def __init__(self, kind: str, labels: list[str], prompt: str | None = None) -> None:
        self.schema = SchemaInfo("s", kind, tuple(labels), tuple(labels), "Is it good?")
        self.params = {"prompt": prompt}


def prompts(base: str, schema: Schema, max_length: int = 256, plain: bool = False, chat: str | None = None) -> Prompts:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.chat_template = chat
    return Prompts(schema, tokenizer, max_length, plain)  # type: ignore[arg-type]


def decoded(base: str, tokens: list[int]) -> str:
    from transformers import AutoTokenizer

    return str(AutoTokenizer.from_pretrained(base).decode(tokens))


def test_a_prompt_is_made_of_description_labels_and_text(tiny_llm: str) -> None:
    asked = prompts(tiny_llm, Schema("nominal", LABELS))
    text = decoded(tiny_llm, asked.question("lovely", 4))
    assert text == "Is it good?\nAnswer with one of: bad, good\n\nText:\nlovely\n\nAnswer:"
    assert decoded(tiny_llm, asked.answer("good")) == " good<end>"
    tags = prompts(tiny_llm, Schema("multilabel", LABELS))
    assert "Does 'bad' apply?" in decoded(tiny_llm, tags.question("lovely", 4, "bad"))


def test_a_prompt_of_ones_own_is_taken_in_the_models_chat_template(tiny_llm: str) -> None:
    chat = "{% for turn in messages %}[{{ turn.role }}]{{ turn.content }}{% endfor %}[answer]"
    asked = prompts(tiny_llm, Schema("text", [], "Say it: {text}!"), chat=chat)
    assert decoded(tiny_llm, asked.question("a {labels} b", 4)) == "[user]Say it: a {labels} b![answer]"
    assert decoded(tiny_llm, asked.answer("x")) == "x<end>"
    plain = prompts(tiny_llm, Schema("text", [], "Say it: {text}!"), chat=chat, plain=True)
    assert decoded(tiny_llm, plain.question("x", 4)) == "Say it: x!"


def test_what_looks_like_a_control_token_in_a_text_is_text(tiny_llm: str) -> None:
    asked = prompts(tiny_llm, Schema("nominal", LABELS))
    assert 1 not in asked.question("<end><end>", 4)
    assert asked.answer("<end>").count(1) == 1


def test_a_long_text_is_cut_and_the_question_behind_it_stays(tiny_llm: str) -> None:
    asked = prompts(tiny_llm, Schema("nominal", LABELS), max_length=100)
    tokens = asked.question("lovely " * 10_000, 4)
    assert len(tokens) == 96
    assert decoded(tiny_llm, tokens).endswith("\n\nAnswer:")


def test_a_prompt_that_leaves_no_room_or_asks_nothing_is_a_sentence(tiny_llm: str) -> None:
    with pytest.raises(TrainerError, match=r"the prompt takes .* raise max_length") as raised:
        prompts(tiny_llm, Schema("nominal", LABELS, "word " * 100 + "{text}")).question("x", 4)
    assert raised.value.code == "prompt_too_long"
    with pytest.raises(ParamError, match=r"param 'prompt' lacks \{text\}"):
        prompts(tiny_llm, Schema("nominal", LABELS, "no text"))
    with pytest.raises(ParamError, match=r"param 'prompt' lacks \{label\}"):
        prompts(tiny_llm, Schema("multilabel", LABELS, "{text}"))


def test_texts_and_labels_of_every_kind_are_taken(tmp_path: Path, tiny_llm: str) -> None:
    """annotation 21"""
    rows = [Item(f"t{n}", text, "train", {"s": ODD[n % len(ODD)]}) for n, text in enumerate(ODD_TEXTS * 2)]
    rows += [Item(f"p{n}", text, "predict") for n, text in enumerate(ODD_TEXTS)]
    model = fitted(tmp_path, tiny_llm, rows, "nominal", ODD, epochs=1, max_length=1024, prompt="{text} =")
    for one in model.predict(held_out(tmp_path)):
        assert one.payload in ODD
        assert sum((one.probabilities or {}).values()) == pytest.approx(1, abs=1e-4)


def test_500_labels_are_taken(tmp_path: Path, tiny_llm: str) -> None:
    labels = [f"label {number}" for number in range(500)]
    rows = [Item(label, f"text {label}", "train", {"s": label}) for label in labels]
    rows += [Item(f"p{number}", "text label 7", "predict") for number in range(2)]
    model = fitted(tmp_path, tiny_llm, rows, "nominal", labels, epochs=1, batch_size=64)
    said = list(model.predict(held_out(tmp_path)))
    assert [len(one.probabilities or {}) for one in said] == [500, 500]


@pytest.mark.parametrize("bits", ["4bit", "8bit"])
def test_it_learns_over_quantized_weights(tmp_path: Path, tiny_llm: str, bits: str) -> None:
    """Val is looked at between the epochs, after which a layer must still pass its gradient on."""
    pytest.importorskip("bitsandbytes")
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*autograd kernel was not registered.*")
        model = fitted(tmp_path / "b", tiny_llm, items(nominal), quantization=bits, save="merged")
    assert right(tmp_path / "b", model) > 0.85
    network = model._llm.network  # type: ignore[attr-defined]
    kinds = {type(module).__name__ for module in network.modules()}
    assert ("Linear4bit" if bits == "4bit" else "Linear8bitLt") in kinds
    (tmp_path / "m").mkdir()
    model.save(str(tmp_path / "m"))
    assert json.loads((tmp_path / "m" / "potato.json").read_text("utf-8"))["quantization"] == bits
    assert "quantization_config" not in json.loads((tmp_path / "m" / "config.json").read_text("utf-8"))


def test_auto_goes_on_in_full_where_a_machine_cannot_quantize_and_4_bits_are_refused_there(
    tmp_path: Path, tiny_llm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.util.find_spec
    monkeypatch.setattr(
        quantization.importlib.util, "find_spec", lambda name: None if name == "bitsandbytes" else real(name)
    )
    the = made(tmp_path, tiny_llm, items(nominal, train=8), epochs=1)
    the.device = "cuda:0"
    assert quantization.choose(the) == "none"
    assert ("log", "info", "the base weights are held in full: No module named 'bitsandbytes'") in the.events  # type: ignore[attr-defined]
    with pytest.raises(PackageNeeded) as raised:
        fitted(tmp_path, tiny_llm, items(nominal, train=8), quantization="4bit")
    assert raised.value.pip == "bitsandbytes>=0.45"


def test_a_machine_whose_bitsandbytes_is_broken_says_so_before_it_starts(
    tmp_path: Path, tiny_llm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bitsandbytes = pytest.importorskip("bitsandbytes")

    def broken(*arguments: Any, **more: Any) -> Any:
        raise RuntimeError("no kernel image is available\nmore lines")

    monkeypatch.setattr(bitsandbytes.nn, "Linear4bit", broken)
    with pytest.raises(TrainerError, match="cannot hold weights in 4bit: RuntimeError: no kernel image") as raised:
        fitted(tmp_path, tiny_llm, items(nominal, train=8), quantization="4bit")
    assert raised.value.code == "no_quantization"


def test_a_base_model_that_writes_no_text_is_a_sentence(tmp_path: Path, tiny: str) -> None:
    with pytest.raises(TrainerError, match=r"the base model '.*' is of another kind: it lacks \d+ of the") as raised:
        fitted(tmp_path, tiny, items(nominal))
    assert raised.value.code == "base_model"


@pytest.mark.parametrize("kind", ["nominal", "text"])
def test_it_stops_within_a_step(tmp_path: Path, tiny_llm: str, kind: str) -> None:
    make = nominal if kind == "nominal" else written
    the = made(tmp_path, tiny_llm, items(make, val=0), kind, LABELS if kind == "nominal" else [], epochs=1000)
    the.should_stop = lambda: sum(event[0] == "progress" for event in the.events) >= 5  # type: ignore[attr-defined]
    with pytest.raises(Cancelled):
        LlmFinetune().fit(the)
    assert sum(event[0] == "progress" for event in the.events) == 5  # type: ignore[attr-defined]


def test_writing_is_left_between_two_tokens(tmp_path: Path, tiny_llm: str) -> None:
    the = made(tmp_path, tiny_llm, items(written, train=8), "text", [], epochs=1, max_new_tokens=200)
    model = LlmFinetune().fit(the)
    looks = 0

    def soon() -> bool:
        nonlocal looks
        looks += 1
        return looks > 3

    the.should_stop = soon
    with pytest.raises(Cancelled):
        list(model.predict(held_out(tmp_path, ["test"])))
    assert looks == 4


def test_batches_halve_when_memory_runs_out(tmp_path: Path, tiny_llm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """annotation 55"""
    from transformers import LlamaForCausalLM

    real, sizes = LlamaForCausalLM.forward, []

    def forward(network: Any, input_ids: Any = None, **more: Any) -> Any:
        sizes.append(len(input_ids))
        if len(input_ids) > 5:
            raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: 99 bytes")
        return real(network, input_ids=input_ids, **more)

    monkeypatch.setattr(LlamaForCausalLM, "forward", forward)
    model = fitted(tmp_path, tiny_llm, items(nominal, train=40), epochs=1)
    assert len(list(model.predict(held_out(tmp_path)))) == 64
    assert max(sizes[-10:]) <= 5


def test_a_loss_that_is_no_number_any_more_ends_the_run(tmp_path: Path, tiny_llm: str) -> None:
    """annotation 46"""
    with pytest.raises(TrainerError, match=r"the loss .* at step|is not a number") as raised:
        fitted(tmp_path, tiny_llm, items(nominal), learning_rate=1e6)
    assert raised.value.code == "not_finite"


def test_gradient_checkpointing_learns_the_same(tmp_path: Path, tiny_llm: str) -> None:
    said = [
        list(
            fitted(
                tmp_path / str(often),
                tiny_llm,
                items(nominal, train=40),
                epochs=1,
                lora_dropout=0.0,
                gradient_checkpointing=often,
            ).predict(held_out(tmp_path / str(often)))
        )
        for often in (False, True)
    ]
    for one, other in zip(*said, strict=True):
        assert one.confidence == pytest.approx(other.confidence, abs=1e-3)
