"""`slider`: a number that is chosen by sight, on a line between two ends."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from potato.schemes.base import WHOLE, Answer, Kind, Scheme
from potato.schemes.numbers import Scale


class Slider(Scheme):
    """A point on a line from `min` to `max`. The answer is a number; a slider that was not touched has none."""

    kind: ClassVar[Kind] = Kind.CONTINUOUS
    template: ClassVar[str] = "slider.html"

    annotation_type: Literal["slider"]
    """`slider`"""
    min: float = 0
    """The number at the beginning of the line."""
    max: float = 100
    """The number at its end."""
    step: float = Field(default=1, gt=0)
    """How far apart the numbers are that can be chosen."""
    min_label: str | None = None
    """What the beginning means."""
    max_label: str | None = None
    """What the end means."""

    @property
    def scale(self) -> Scale:
        """The numbers that the question takes."""
        return Scale(self.name, self.min, self.max, self.step)

    def parse(self, raw: Any) -> Answer:
        return self.scale.parse(raw)

    def keyed(self) -> list[str]:
        return [WHOLE]

    def check_prediction(self, payload: Any) -> None:
        self.scale.nearest(payload)

    def prediction_answer(self, payload: Any) -> Answer:
        return self.scale.nearest(payload)
