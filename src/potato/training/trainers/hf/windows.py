"""Long texts in pieces that overlap, so that all of a text is read."""

from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from potato.training.trainers.base import Task, TrainerError
from potato.training.trainers.hf import base_model
from potato.training.trainers.hf.texts import Tokens


@dataclass(frozen=True)
class Window:
    """A piece of a text: its tokens, their places in the text, and which of them count (the rest is context, which
    counts in the piece beside)."""

    tokens: Tokens
    offsets: List[Tuple[int, int]]
    counts: range


class Windows:
    """Cuts texts into windows of at most `longest` tokens. Raises `TrainerError` where no places are told."""

    def __init__(self, task: Task, tokenizer: Any, model: Any) -> None:
        if not tokenizer.is_fast:
            raise TrainerError("the base model's tokenizer does not tell where in a text its tokens are", "base_model")
        self._tokenizer = tokenizer
        self.longest = base_model.longest(task, tokenizer, model)
        self._overlap = self.longest // 4

    def of_text(self, text: str) -> List[Window]:
        """The windows of a text, at least one."""
        found = self._tokenizer(
            text,
            truncation=True,
            max_length=self.longest,
            stride=self._overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_special_tokens_mask=True,
        )
        total = len(found["input_ids"])
        return [self._window(found, number, total) for number in range(total)]

    def _window(self, found: Dict[str, Any], number: int, total: int) -> Window:
        """Of the tokens that two windows share, the first half counts in the one, the second in the other."""
        ours = ("overflow_to_sample_mapping", "offset_mapping", "special_tokens_mask")
        tokens = {name: rows[number] for name, rows in found.items() if name not in ours}
        special = found["special_tokens_mask"][number]
        offsets = [(0, 0) if mark else place for mark, place in zip(special, found["offset_mapping"][number])]
        inner = [position for position, mark in enumerate(special) if not mark]
        half = self._overlap // 2
        begin = inner[half] if number and len(inner) > half else 0
        end = len(special) if number == total - 1 else inner[-1] + 1 - (self._overlap - half)
        return Window(tokens, offsets, range(begin, end))
