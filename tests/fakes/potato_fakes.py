"""Trainers for tests, found by entry point like any third party's: they learn nothing, and end as they are told."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from potato.training.contract.predictions import Prediction
from potato.training.trainers.base import Model, Param, Trainer, TrainerError, TrainerInfo


def wait_for_file(path, check=lambda: None):
    """Go on once the file is there."""
    while path and not Path(path).exists():
        check()
        time.sleep(0.01)


wait_for_file(os.environ.get("POTATO_FAKES_WAIT"))  # a worker may take long to import its trainer


class FakeModel(Model):
    """Says the same of every item, but for a few by id."""

    def __init__(self, task):
        self.task = task

    def save(self, folder):
        Path(folder, "model.txt").write_text("a model", "ascii")
        for number in range(self.task.params["weights"]):
            with Path(folder, f"weights-{number}.bin").open("wb") as file:
                for _ in range(self.task.params["weights_mb"]):
                    file.write(os.urandom(1 << 20))

    def predict(self, items):
        params = self.task.params
        wait_for_file(params["predict_when"], self.task.check_stop)
        for item in items:
            yield self.prediction(item, params)
            if params["slow_predict_s"]:
                until = time.time() + params["slow_predict_s"]
                while time.time() < until:
                    self.task.check_stop()
                    time.sleep(0.01)

    def prediction(self, item, params):
        answer = item.fields.get("guess", params["answer"])
        name = "elsewhere" if params["says"] == "other_scheme" else self.task.schema.name
        if params["says"] == "unknown_label":
            answer = "no such label"
        confidence = None if params["says"] == "no_confidence" else item.fields.get("sure", 0.9)
        ident = "no such item" if params["says"] == "unknown_item" else item.id
        probabilities = {"positive" * 1000: 0.5} if params["says"] == "long" else None
        if params["says"] == "one_item":
            ident = "i0"
        return Prediction(ident, name, answer, confidence, probabilities)


class Fake(Trainer):
    """`does` names how it ends."""

    info = TrainerInfo(
        name="fake",
        summary="for tests",
        kinds=("nominal", "multilabel", "ordinal"),
        modalities=("text",),
        requires=(),
        licence="Apache-2.0",
        params=(
            Param("does", "text", "succeed", "how it ends"),
            Param("says", "text", "", "what is odd about its predictions"),
            Param("answer", "text", "positive", "what it predicts"),
            Param("seconds", "float", 0.0, "how long it trains", minimum=0, maximum=600),
            Param("weights", "int", 0, "how many large files its model has", minimum=0, maximum=9),
            Param("weights_mb", "int", 1, "how large each is", minimum=1, maximum=4000),
            Param("slow_predict_s", "float", 0.0, "how long a prediction takes", minimum=0, maximum=60),
            Param("until", "text", "", "the file that ends its training, by being there"),
            Param("predict_when", "text", "", "the file that lets it predict, by being there"),
            Param("lines", "int", 0, "how many numbered lines it logs and prints", minimum=0, maximum=1_000_000),
        ),
        min_train_items=4,
    )

    def fit(self, task):
        does = task.params["does"]
        task.log("info", f"the fake begins: {does}")
        if does == "tell":
            names = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
            task.log("info", f"environment: {json.dumps({name: os.environ.get(name) for name in names})}")
        if does == "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if does == "child":
            subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(15, 1); time.sleep(600)"])
        if does == "eat":
            self.food = bytearray(400_000_000)
        self.train(task)
        for number in range(task.params["lines"]):
            task.log("info", f"line {number}")
            print("printed", number, file=sys.stderr)
        if does == "fail":
            raise TrainerError("the fake was told to fail")
        if does == "exit_0":
            os._exit(0)
        if does == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if does == "flood":
            for number in range(20000):
                task.log("info", f"line {number}")
        return FakeModel(task)

    def train(self, task):
        until = time.time() + task.params["seconds"]
        step = 0
        while time.time() < until:
            if task.params["does"] != "deaf":
                task.check_stop()
            step += 1
            task.progress("fit", step, step + 1)
            task.metric("val", "loss", 1.0 / step, step)
            time.sleep(0.01)
        wait_for_file(task.params["until"], task.check_stop)


class Picky(Fake):
    """Learns ordinal schemes, on a cluster alone."""

    info = TrainerInfo(
        name="fake-picky",
        summary="for tests",
        kinds=("nominal",),
        modalities=("text",),
        requires=(),
        licence="Apache-2.0",
        params=(),
        backends=("slurm",),
    )
