"""Base models for the trainers that fine-tune."""

from __future__ import annotations

import importlib.util
import os
import random
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import minilm_folder, missing
from jobs import task, write_bundle
from potato.training.trainers.hf_text_classification import HfTextClassification
from sentences import FILLER, WORDS, items, ordinal


@pytest.fixture(scope="session")
def fine_tuning() -> None:
    """torch, transformers and peft, on one thread: other tests want the other core."""
    for module in ("torch", "transformers", "peft"):
        if importlib.util.find_spec(module) is None:
            missing(module)
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def minilm(fine_tuning: None) -> str:
    """The folder of all-MiniLM-L6-v2."""
    return minilm_folder()


@pytest.fixture(scope="session")
def tiny(fine_tuning: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a BERT of two small layers that has learned nothing, with a tokenizer of whole words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = str(tmp_path_factory.mktemp("tiny"))
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS["good"], *WORDS["bad"], *FILLER]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, "[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    BertModel(BertConfig(vocab_size=len(words), max_position_embeddings=64, **sizes)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def schooled(tiny: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same small BERT, taught to tell the words of the made-up sentences apart: there is something to build on."""
    folder, bundle = tmp_path_factory.mktemp("schooled"), tmp_path_factory.mktemp("school")
    write_bundle(bundle, items(ordinal, train=600, val=60), {"s": ("ordinal", ["1", "3", "5"])})
    params = {"base_model": tiny, "epochs": 12, "learning_rate": 3e-3, "patience": 12}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = HfTextClassification().fit(task(bundle, "s", HfTextClassification.info, **params))
        model.save(str(folder))
    assert model.metrics()["val_mae"] < 0.5
    return str(folder)


@pytest.fixture(scope="session")
def tiny_vit(fine_tuning: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a vision transformer of two small layers that has learned nothing."""
    import torch
    from transformers import ViTConfig, ViTImageProcessor, ViTModel

    folder = str(tmp_path_factory.mktemp("tiny-vit"))
    torch.manual_seed(0)
    sizes = {"hidden_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
    ViTModel(ViTConfig(image_size=8, patch_size=2, **sizes)).save_pretrained(folder)
    ViTImageProcessor(size={"height": 8, "width": 8}, resample=0).save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """What a trainer sets in the environment ends with the test."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def tiny_llm(fine_tuning: None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a small Llama, with a tokenizer of bytes trained here. It has learned to tell the words of the
    made-up sentences apart, and that an answer is one of some words, but not which word goes with which sentence."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = str(tmp_path_factory.mktemp("tiny-llm"))
    tokenizer = bytes_tokenizer()
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    config = LlamaConfig(
        vocab_size=len(tokenizer), max_position_embeddings=512, eos_token_id=1, pad_token_id=0, **sizes
    )
    network = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    for step in range(200):
        texts = [lesson(random.Random(32 * step + number)) for number in range(32)]
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        loss = network(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    network.save_pretrained(folder)
    return folder


ANSWERS = ("good", "bad", "yes", "no", "good day", "bad day")


def lesson(chance: random.Random) -> str:
    """A text and the point on a scale that it has; or a text and any answer."""
    text, point = ordinal(chance)
    answer = f" {point}" if chance.random() < 0.7 else f" {chance.choice(ANSWERS)}<end>"
    return f"Text:\n{text}\n\nAnswer:{answer}"


def bytes_tokenizer() -> Any:
    """Byte pairs, trained on the words of the made-up sentences and of the prompts."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    words = [*WORDS["good"], *WORDS["bad"], *FILLER, *ANSWERS, "Text:", "Answer:", "Answer with one of: Does apply?"]
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<pad>", "<end>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([" ".join(words)] * 20, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<end>")
