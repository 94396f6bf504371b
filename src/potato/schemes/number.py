"""`number`: a number that is typed."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import Field

from potato.schemes.base import WHOLE, Answer, Kind, Scheme
from potato.schemes.numbers import Scale


class Number(Scheme):
    """A number in a field. The answer is a number; an empty field is none, and 0 is one."""

    kind: ClassVar[Kind] = Kind.CONTINUOUS
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
