"""The two texts of a pair, which are fields of its item."""

from typing import Any, Dict, List, Sequence, Tuple

from potato.training.contract.bundle import BundleItem
from potato.training.trainers.base import Task, TrainerError
from potato.training.trainers.hf.texts import Texts, Tokens, length

FIELDS = ("text_a", "text_b")
"""The fields of both texts where the bundle names none."""

Example = Tuple[Tokens, Tokens]


class Pairs:
    """Pairs of texts. A batch holds all first texts, then all second ones."""

    def __init__(self, task: Task, texts: Texts) -> None:
        first, second = task.schema.fields or FIELDS
        self._fields = task.params["field_a"] or first, task.params["field_b"] or second
        self._texts = texts

    def of_items(self, items: Sequence[BundleItem]) -> List[Example]:
        """Each pair's tokens. Raises `TrainerError` for an item that lacks a text."""
        sides = [self._texts.encode([_text(item, field) for item in items]) for field in self._fields]
        return list(zip(*sides))

    def length(self, example: Example) -> int:
        """The tokens of the longer text."""
        return max(map(length, example))

    def batch(self, examples: Sequence[Example]) -> Any:
        """Twice as many rows as examples."""
        return self._texts.batch([first for first, _ in examples] + [second for _, second in examples])

    def save(self, folder: str) -> None:
        """Write the tokenizer beside the model."""
        self._texts.save(folder)

    def facts(self) -> Dict[str, Any]:
        """How much of a text is read."""
        return self._texts.facts()


def _text(item: BundleItem, field: str) -> str:
    value = item.fields.get(field)
    if not isinstance(value, str):
        raise TrainerError("item '%s' has no text in its field '%s'" % (item.id, field), "no_text")
    return value
