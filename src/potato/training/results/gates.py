"""Write-back's gates: what keeps a prediction from being shown to annotators. They are passed in this order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from potato.project.training import ModelTraining
from potato.store import Connection
from potato.store.training import predictions
from potato.store.training.predictions import Rejected, Schemes, Stored, Target
from potato.training.contract.predictions import Prediction
from potato.training.splits import is_hidden, split_of


class Gate(str, Enum):
    """Why a prediction is not shown."""

    TRAIN_SPLIT = "train_split"
    HELD_OUT = "held_out"
    NOT_LISTED = "not_listed"
    REJECTED = "rejected"
    LOW_CONFIDENCE = "low_confidence"
    LOW_SCORE = "low_score"
    HIDDEN = predictions.HIDDEN


@dataclass
class Tally:
    """One scheme's predictions, counted: all, those that pass every gate but the score's, and the others by gate."""

    read: int = 0
    passed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    without_confidence: int = 0


class Gates:
    """The gates of one scheme. Each prediction gets the first that holds it back, or None.

    The last gate, the run's held-out score, is for the scheme as a whole: see `Writeback`.
    """

    def __init__(self, settings: ModelTraining, scheme: str, schemes: Schemes) -> None:
        self._settings = settings
        self._schemes = schemes
        self._scheme = scheme
        self._listed = scheme in settings.writeback.schemas
        self.tally = Tally()

    def judge(self, connection: Connection, found: Sequence[tuple[Prediction, Target]]) -> Sequence[Stored]:
        """These predictions as they are stored, each with its gate."""
        numbers = [target.seq for _, target in found]
        rejected = predictions.rejected(connection, self._scheme, self._schemes, numbers if self._listed else [])
        return [self._stored(prediction, target, rejected) for prediction, target in found]

    def _stored(self, prediction: Prediction, target: Target, rejected: Rejected) -> Stored:
        gate = self._gate(prediction, target, rejected)
        self.tally.read += 1
        if gate is None:
            self.tally.passed += 1
        else:
            self.tally.skipped[gate.value] += 1
        if prediction.confidence is None:
            self.tally.without_confidence += 1
        return Stored(
            item=target.seq,
            scheme=self._scheme,
            payload=prediction.payload,
            confidence=prediction.confidence,
            probabilities=prediction.probabilities,
            gate=gate.value if gate else None,
        )

    def _gate(self, prediction: Prediction, target: Target, rejected: Rejected) -> Gate | None:
        settings = self._settings
        if target.trained:
            return Gate.TRAIN_SPLIT
        if split_of(target.group, settings.split_seed, settings.splits) != "train":
            return Gate.HELD_OUT
        if not self._listed:
            return Gate.NOT_LISTED
        if rejected.holds(target.seq, prediction.payload):
            return Gate.REJECTED
        if (prediction.confidence or 0.0) < settings.writeback.min_confidence:
            return Gate.LOW_CONFIDENCE
        if is_hidden(self._scheme, target.group, settings.writeback.hide_share):
            return Gate.HIDDEN
        return None


def empty_skips(settings: ModelTraining) -> dict[str, Any]:
    """Every gate with a count of 0, as reports list them."""
    names = [gate.value for gate in Gate if gate is not Gate.HIDDEN or settings.writeback.hide_share > 0]
    return dict.fromkeys(names, 0)
