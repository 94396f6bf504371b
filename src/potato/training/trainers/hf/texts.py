"""Texts as a tokenizer's numbers, cut at the longest that is read, and padded into batches."""

from typing import Any, Dict, Iterable, List, Sequence

from potato.training.contract.bundle import BundleItem
from potato.training.trainers.base import Task
from potato.training.trainers.hf import base_model

Tokens = Dict[str, List[int]]
"""What a tokenizer makes of one text."""


class Texts:
    """The tokenizer of a base model, and `longest`, the most tokens of a text that it reads."""

    def __init__(self, task: Task, tokenizer: Any, model: Any) -> None:
        self._task = task
        self.tokenizer = tokenizer
        self.longest = base_model.longest(task, tokenizer, model)

    def encode(self, texts: Sequence[str]) -> List[Tokens]:
        """Each text's tokens."""
        if not texts:
            return []
        found = self.tokenizer(list(texts), truncation=True, max_length=self.longest)
        return [{name: rows[position] for name, rows in found.items()} for position in range(len(texts))]

    def of_items(self, items: Sequence[BundleItem]) -> List[Tokens]:
        """Each item's text's tokens."""
        return self.encode([item.text or "" for item in items])

    def batch(self, tokens: Sequence[Tokens]) -> Any:
        """The padded batch on the run's device. Raises `Cancelled` when the run is to stop."""
        self._task.check_stop()
        return self.tokenizer.pad(list(tokens), return_tensors="pt").to(self._task.device)

    def length(self, example: Tokens) -> int:
        """How many tokens an example has."""
        return length(example)

    def save(self, folder: str) -> None:
        """Write the tokenizer beside the model."""
        self.tokenizer.save_pretrained(folder)

    def facts(self) -> Dict[str, Any]:
        """How much of a text is read."""
        return {"max_length": self.longest}

    def say_what_is_cut(self, inputs: Iterable[Tokens]) -> None:
        """Log how many of the training texts are longer than what is read."""
        sizes = [length(tokens) for tokens in inputs]
        full = sum(size >= self.longest for size in sizes)
        if full:
            words = "%d of %d training texts reach max_length (%d tokens); what is beyond it is not read"
            self._task.log("info", words % (full, len(sizes), self.longest))


def length(tokens: Tokens) -> int:
    """How many tokens they are."""
    return len(tokens["input_ids"])
