"""A trainer that learns nothing and writes much: events at a rate, a large model file, long predictions."""

import time
from pathlib import Path

from potato.training.contract.predictions import Prediction
from potato.training.trainers.base import Model, Param, Trainer, TrainerInfo


class Written(Model):
    """Says the same of every item, at length."""

    def __init__(self, task):
        self.task = task

    def save(self, folder):
        with Path(folder, "model.bin").open("wb") as file:
            file.truncate(self.task.params["artifact_mb"] * 1_000_000)

    def predict(self, items):
        long = {"positive" + "x" * self.task.params["prediction_bytes"]: 0.5}
        for item in items:
            yield Prediction(item.id, self.task.schema.name, "positive", 0.9, long)


class Benchmark(Trainer):
    """`events` a second for `seconds`."""

    info = TrainerInfo(
        name="benchmark",
        summary="for measuring",
        kinds=("nominal",),
        modalities=("text",),
        requires=(),
        licence="Apache-2.0",
        params=(
            Param("events", "int", 0, "events a second", minimum=0, maximum=1_000_000),
            Param("seconds", "float", 0.0, "how long", minimum=0, maximum=86400),
            Param("artifact_mb", "int", 0, "the model's size", minimum=0, maximum=1_000_000),
            Param("prediction_bytes", "int", 0, "what is added to each prediction", minimum=0, maximum=1_000_000),
        ),
    )

    def fit(self, task):
        began, sent = time.monotonic(), 0
        while time.monotonic() - began < task.params["seconds"]:
            task.check_stop()
            due = int((time.monotonic() - began) * task.params["events"])
            for step in range(sent, due):
                task.metric("train", "loss", 1.0 / (step + 1), step)
            sent = max(sent, due)
            time.sleep(0.05)
        return Written(task)
