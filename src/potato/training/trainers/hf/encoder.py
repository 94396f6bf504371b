"""A transformer that makes one vector of a text (Reimers and Gurevych 2019), by transformers alone."""

import os
from typing import Any, Iterable, Iterator, List, Sequence, Tuple

from potato.training.contract.bundle import BundleItem
from potato.training.contract.files import write_json
from potato.training.trainers.base import Task
from potato.training.trainers.hf import base_model
from potato.training.trainers.hf.batches import Halving, mapped
from potato.training.trainers.hf.setting_up import Precision
from potato.training.trainers.hf.texts import Texts, Tokens, length


class Encoder:
    """A text's vector is the mean of its tokens' last vectors, or the first token's, at length one."""

    def __init__(self, task: Task, precision: Precision) -> None:
        self._task = task
        tokenizer, network = base_model.load(task, "AutoModel")
        self.texts = Texts(task, tokenizer, network)
        self.network = network.to(task.device)
        self._precision = precision
        self._sizes = Halving(task, 4 * task.params["batch_size"], "embedding")

    def vectors(self, tokens: Sequence[Tokens]) -> Any:
        """A row a text, in float32."""
        from torch.nn import functional

        batch = self.texts.batch(tokens)
        states = self.network(**batch).last_hidden_state
        if self._task.params["pooling"] == "cls":
            pooled = states[:, 0]
        else:
            there = batch["attention_mask"].unsqueeze(-1).to(states.dtype)
            pooled = (states * there).sum(1) / there.sum(1).clamp(min=1)
        return functional.normalize(pooled.float(), dim=-1)

    def embedded(self, items: Iterable[BundleItem]) -> Iterator[Tuple[BundleItem, List[float]]]:
        """Each item with its text's vector, in order, computed in batches."""
        self.network.eval()
        return mapped(items, self.texts.of_items, length, self._lists, self._sizes)

    def table(self, items: Sequence[BundleItem], phase: str) -> Any:
        """A row an item as an array; progress is reported under `phase`."""
        import numpy

        rows = []
        for done, (_, row) in enumerate(self.embedded(items), 1):
            rows.append(row)
            self._task.progress(phase, done, len(items))
        return numpy.asarray(rows, dtype=numpy.float32)

    def save(self, folder: str) -> None:
        """Write model and tokenizer, and beside them how sentence-transformers is to pool, so that it loads them."""
        self.network.save_pretrained(folder)
        self.texts.tokenizer.save_pretrained(folder)
        kinds = ("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")
        modules = [
            {"idx": number, "name": str(number), "path": path, "type": "sentence_transformers.models." + kind}
            for number, (kind, path) in enumerate(kinds)
        ]
        for _, path in kinds[1:]:
            os.mkdir(os.path.join(folder, path))
        pooling = self._task.params["pooling"]
        size = self.network.config.hidden_size
        how = {
            "word_embedding_dimension": size,
            "pooling_mode_cls_token": pooling == "cls",
            "pooling_mode_mean_tokens": pooling == "mean",
        }
        write_json(os.path.join(folder, "modules.json"), modules)
        write_json(os.path.join(folder, "1_Pooling", "config.json"), how)
        limits = {"max_seq_length": self.texts.longest, "do_lower_case": False}
        write_json(os.path.join(folder, "sentence_bert_config.json"), limits)

    def _lists(self, tokens: List[Tokens]) -> List[List[float]]:
        import torch

        with torch.inference_mode(), self._precision.autocast():
            return self.vectors(tokens).cpu().tolist()  # type: ignore[no-any-return]
