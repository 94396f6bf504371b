"""`number`: a number that is typed."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic import Field

from potato.schemes.numbers import Scale
from potato.schemes.numeric import Numeric


class Number(Numeric):
    """A number in a field. The answer is a number; an empty field is none, and 0 is one."""

    template: ClassVar[str] = "number.html"

    annotation_type: Literal["number"]
    """`number`"""
    min: float | None = None
    """The smallest number that is taken."""
    max: float | None = None
    """The largest number that is taken."""
    step: float | None = Field(default=None, gt=0)
    """Only numbers this far apart are taken, counted from `min`, or from 0; `1` means whole numbers."""

    @property
    def scale(self) -> Scale:
        return Scale(self.name, self.min, self.max, self.step)
