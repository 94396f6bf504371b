"""`likert`: one point of an ordered scale."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from potato.schemes.base import Answer, InvalidAnswer, Kind, Scheme


class Likert(Scheme):
    """A scale of `size` points. The answer is an integer from 1 to `size`."""

    kind: ClassVar[Kind] = Kind.ORDINAL
    template: ClassVar[str] = "likert.html"

    annotation_type: Literal["likert"]
    """`likert`"""
    size: int = Field(default=5, ge=2, le=11)
    """How many points the scale has."""
    min_label: str | None = None
    """What the first point means."""
    max_label: str | None = None
    """What the last point means."""

    def parse(self, raw: Any) -> Answer:
        if isinstance(raw, int) and not isinstance(raw, bool) and 1 <= raw <= self.size:
            return raw
        raise InvalidAnswer(
            f"{raw!r:.80} is not a point of '{self.name}'; it takes a whole number from 1 to {self.size}"
        )

    def label_names(self) -> list[str]:
        return [str(point) for point in range(1, self.size + 1)]
