"""The predictions file: read strictly, because what is in it is shown to annotators."""

from __future__ import annotations

import io

import pytest

from potato.training.contract.predictions import Prediction, PredictionsError, read_predictions


def read(*lines: bytes) -> list[Prediction]:
    return list(read_predictions(io.BytesIO(b"".join(line + b"\n" for line in lines))))


@pytest.mark.parametrize(
    "prediction",
    [
        Prediction("1", "s", "positive", 0.75, {"positive": 0.75, "negative": 0.25}),
        Prediction("01", "s", ["a", "b"], 0.5, {"a": 0.9, "b": 0.6}),
        Prediction("ü\u2028", "s", [], None),
        Prediction("x", "s", -3.5),
    ],
)
def test_a_prediction_is_read_as_it_was_written(prediction: Prediction) -> None:
    assert read(prediction.line()[:-1]) == [prediction]


def test_empty_lines_are_nothing() -> None:
    assert read(b"", b'{"instance_id": "1", "schema_name": "s", "payload": 1}', b" ") == [Prediction("1", "s", 1)]


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b"null",
        b'{"instance_id": "1", "schema_name": "s"}',
        b'{"instance_id": 1, "schema_name": "s", "payload": 1}',
        b'{"instance_id": "1", "schema_name": null, "payload": 1}',
        b'{"instance_id": "1", "schema_name": "s", "payload": NaN}',
        b'{"instance_id": "1", "schema_name": "s", "payload": 1, "confidence": 1.5}',
        b'{"instance_id": "1", "schema_name": "s", "payload": 1, "confidence": true}',
        b'{"instance_id": "1", "schema_name": "s", "payload": 1, "confidence": "high"}',
        b'{"instance_id": "1", "schema_name": "s", "payload": 1, "probabilities": {"a": -1}}',
        b'{"instance_id": "1", "schema_name": "s", "payload": 1, "probabilities": [1]}',
        b'{"instance_id": "1", "schema_name": "s", "payload": "\\ud800"}',
        b'{"instance_id": "1", "schema_name": "s", "payload": "\xff"}',
        b'{"instance_id": "1", "schema_name": "s", "pay',
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_prediction_is_named(line: bytes) -> None:
    good = Prediction("1", "s", "a").line()[:-1]
    with pytest.raises(PredictionsError, match=r"^line 2 of the predictions cannot be read: "):
        read(good, line, good)


def test_a_prediction_that_is_no_number_is_not_written() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        Prediction("1", "s", float("nan")).line()
