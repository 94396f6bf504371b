"""`pairwise`: which of an item's two texts is better."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar, Literal

from pydantic import Field

from potato.schemes.base import Answer, InvalidAnswer, Kind, Scheme

SIDES = ("a", "b")
TIE = "tie"


class Pairwise(Scheme):
    """Two texts of the item side by side. The answer is `a`, `b` or `tie`, by the item's fields, however they stood.

    Which of them stands first differs from annotator to annotator and from item to item, so that the place decides
    nothing; it is kept with each answer.
    """

    kind: ClassVar[Kind] = Kind.PAIRWISE
    template: ClassVar[str] = "pairwise.html"
    varies: ClassVar[bool] = True

    annotation_type: Literal["pairwise"]
    """`pairwise`"""
    field_a: str = Field(default="text_a", min_length=1)
    """The item's field with the text that the answer `a` means. It may be the `text_key` itself."""
    field_b: str = Field(default="text_b", min_length=1)
    """The item's field with the text that the answer `b` means."""
    allow_tie: bool = True
    """Whether neither may be better."""

    def parse(self, raw: Any) -> Answer:
        if isinstance(raw, str) and raw in self.label_names():
            return raw
        raise InvalidAnswer(f"{raw!r:.80} is no answer to '{self.name}'; it takes {', '.join(self.label_names())}")

    def label_names(self) -> list[str]:
        return [*SIDES, TIE] if self.allow_tie else list(SIDES)

    def item_fields(self) -> tuple[str, ...]:
        return self.field_a, self.field_b

    def shown_as(self, annotator: str, item: str) -> list[str]:
        """The sides in the order in which they stand: `["a", "b"]` or `["b", "a"]`."""
        said = "\0".join((self.name, annotator, item)).encode("utf-8", "surrogatepass")
        return list(SIDES if blake2b(said, digest_size=1).digest()[0] % 2 else reversed(SIDES))

    def said(self, answer: Answer, shown: Any = None) -> str:
        if answer == TIE:
            return "a tie"
        return ("the first", "the second")[shown.index(answer)] if shown and answer in shown else str(answer)
