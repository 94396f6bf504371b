"""`predictions.jsonl`: what a model says of each item, a line a prediction."""

import json
import math
from dataclasses import dataclass
from typing import Any, BinaryIO, Dict, Iterator, Optional


class PredictionsError(Exception):
    """A predictions file that cannot be taken in; the sentence names the line."""


@dataclass(frozen=True)
class Prediction:
    """One prediction: `payload` has the shape of the scheme's answer; `confidence` is 0 to 1 or None;
    `probabilities` maps label names to 0 to 1, for classification."""

    instance_id: str
    schema_name: str
    payload: Any
    confidence: Optional[float] = None
    probabilities: Optional[Dict[str, float]] = None

    def line(self) -> bytes:
        """Its line, newline included."""
        record: Dict[str, Any] = {
            "instance_id": self.instance_id,
            "schema_name": self.schema_name,
            "payload": self.payload,
            "confidence": self.confidence,
        }
        if self.probabilities is not None:
            record["probabilities"] = self.probabilities
        return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def read_predictions(file: BinaryIO) -> Iterator[Prediction]:
    """The predictions of an open file, streamed. Raises `PredictionsError` at the first line that is not one."""
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            yield _parse(json.loads(line.decode("utf-8"), parse_constant=_no_number))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise PredictionsError("line %d of the predictions cannot be read: %s" % (number, error)) from error


def _no_number(name: str) -> None:
    raise ValueError("%s is no number" % name)


def _parse(raw: Dict[str, Any]) -> Prediction:
    instance_id, schema_name = raw["instance_id"], raw["schema_name"]
    if not isinstance(instance_id, str) or not isinstance(schema_name, str):
        raise ValueError("instance_id and schema_name are text")
    json.dumps(raw, ensure_ascii=False).encode()  # raises for half a character, which no store takes
    probabilities = raw.get("probabilities")
    if probabilities is not None:
        probabilities = {str(label): _share(value, "a probability") for label, value in probabilities.items()}
    confidence = raw.get("confidence")
    if confidence is not None:
        confidence = _share(confidence, "a confidence")
    return Prediction(instance_id, schema_name, raw["payload"], confidence, probabilities)


def _share(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError("%s is a number from 0 to 1, not %.40r" % (what, value))
    if not -1e-6 <= value <= 1 + 1e-6:
        raise ValueError("%s is a number from 0 to 1, not %.40r" % (what, value))
    return min(1.0, max(0.0, float(value)))
