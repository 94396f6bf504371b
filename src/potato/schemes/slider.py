"""`slider`: a number that is chosen by sight, on a line between two ends."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from potato.schemes.numbers import Scale
from potato.schemes.numeric import Numeric


class Slider(Numeric):
    """A point on a line from `min` to `max`. The answer is a number; a slider that was not touched has none."""

    template: ClassVar[str] = "slider.html"

    annotation_type: Literal["slider"]
    """`slider`"""
    min: float = 0.0
    """The number at the beginning of the line."""
    max: float = 100.0
    """The number at its end."""
    step: float = Field(default=1, gt=0)
    """How far apart the numbers are that can be chosen."""
    min_label: str | None = None
    """What the beginning means."""
    max_label: str | None = None
    """What the end means."""

    @property
    def scale(self) -> Scale:
        return Scale(self.name, self.min, self.max, self.step)
