"""Numbers as answers: within bounds, and on a grid of steps, without the noise of binary fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from potato.schemes.base import InvalidAnswer

LARGEST = 1e15
"""Beyond this, not every whole number can be told from its neighbour."""


@dataclass(frozen=True)
class Scale:
    """The numbers that a question takes. Steps count from `minimum`, or from 0 where there is none."""

    scheme: str
    minimum: float | None
    maximum: float | None
    step: float | None

    def parse(self, raw: Any) -> int | float:
        """`raw` as it is stored. Raises `InvalidAnswer` for what is no number, or none that the question takes."""
        number = _finite(raw)
        if number is None:
            raise InvalidAnswer(f"{raw!r:.80} is not a number; '{self.scheme}' takes {self.words()}")
        nearest = self._on_grid(number)
        if self._outside(number) or abs(nearest - number) > self._tolerance(number):
            raise InvalidAnswer(f"{number:.15g} is not taken by '{self.scheme}'; it takes {self.words()}")
        return _plain(nearest)

    def nearest(self, raw: Any) -> int | float:
        """The number of the scale that comes nearest to `raw`, as a model's output. Raises `InvalidAnswer`."""
        number = _finite(raw)
        if number is None:
            raise InvalidAnswer(f"{raw!r:.80} is not a number, as answers to '{self.scheme}' are")
        return _plain(self._inside(self._on_grid(self._inside(number))))

    def words(self) -> str:
        """Which numbers those are."""
        kind = "whole numbers" if self.step == 1 and self._base().is_integer() else "numbers"
        parts = [] if self.minimum is None else [f"from {self.minimum:.15g}"]
        parts += [] if self.maximum is None else [f"up to {self.maximum:.15g}"]
        parts += [f"in steps of {self.step:.15g}"] if self.step is not None and kind == "numbers" else []
        return " ".join([kind, *parts])

    def _base(self) -> float:
        return 0.0 if self.minimum is None else float(self.minimum)  # a default is an int

    def _outside(self, number: float) -> bool:
        return (self.minimum is not None and number < self.minimum) or (
            self.maximum is not None and number > self.maximum
        )

    def _inside(self, number: float) -> float:
        """`number`, or the bound that it is beyond; the upper one is the last step below `maximum`."""
        low = -LARGEST if self.minimum is None else self.minimum
        high = LARGEST if self.maximum is None else self.maximum
        if self.step is not None and self.maximum is not None:
            steps = (Decimal(str(high)) - Decimal(str(self._base()))) // Decimal(str(self.step))
            high = float(Decimal(str(self._base())) + steps * Decimal(str(self.step)))
        return min(max(number, low), high)

    def _on_grid(self, number: float) -> float:
        if self.step is None:
            return number
        base, step = Decimal(str(self._base())), Decimal(str(self.step))
        return float(base + ((Decimal(str(number)) - base) / step).to_integral_value() * step)

    def _tolerance(self, number: float) -> float:
        return 0.0 if self.step is None else max(self.step * 1e-6, abs(number) * 1e-12)


def _finite(raw: Any) -> float | None:
    """`raw` as a number that can be stored; None for anything else."""
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    if isinstance(raw, int) and abs(raw) > LARGEST:
        return None
    number = float(raw)
    return number if math.isfinite(number) and abs(number) <= LARGEST else None


def _plain(number: float) -> int | float:
    """Whole numbers without a fraction, so that 3 and 3.0 are one answer; and no minus zero."""
    return int(number) if number.is_integer() else number
