"""What questions share whose answer is a number."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from potato.schemes.base import WHOLE, Answer, Kind, Scheme
from potato.schemes.numbers import Scale


class Numeric(Scheme):
    """A question whose answer is a number of its `scale`."""

    kind: ClassVar[Kind] = Kind.CONTINUOUS

    @property
    @abstractmethod
    def scale(self) -> Scale:
        """The numbers that the question takes."""

    def parse(self, raw: Any) -> Answer:
        return self.scale.parse(raw)

    def keyed(self) -> list[str]:
        return [WHOLE]

    def check_prediction(self, payload: Any) -> None:
        self.scale.nearest(payload)

    def prediction_answer(self, payload: Any) -> Answer:
        return self.scale.nearest(payload)
