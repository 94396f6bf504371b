"""What scoring is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from potato.schemes import Answer


@dataclass(frozen=True)
class Scored:
    """`target` is the human answer, `payload` the model's; `votes` are the annotators' answers behind the target, as
    `[answer, count]` pairs; `text` is the item's."""

    target: Answer
    payload: Answer
    confidence: float | None = None
    probabilities: dict[str, float] | None = None
    votes: Sequence[Sequence[Any]] = ()
    text: str = ""


@dataclass(frozen=True)
class Scoring:
    """What is scored against: the project's label order, the answers that training saw, the seed of the resamples."""

    labels: Sequence[str]
    train_targets: Sequence[Any]
    seed: int
