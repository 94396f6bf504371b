"""Trainers that end in every way that a trainer may: `does` says how, `at` says when. They run on Python 3.8."""

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from potato.training.contract.predictions import Prediction
from potato.training.trainers.base import Model, Param, Requirement, Trainer, TrainerError, TrainerInfo

if "STRANGE_NOISE" in os.environ:
    print(os.environ["STRANGE_NOISE"])


class OutOfMemoryError(RuntimeError):
    """Named as torch's."""


def happen(task, at):
    """Do what `does` names, where it is to be done now."""
    does = task.params["does"] if task.params["at"] == at else ""
    task.log("info", f"now {at}")
    if does == "print":
        print("printed by a library")
        sys.stdout.flush()
        os.write(1, b"written to descriptor 1\n")
        subprocess.check_call([sys.executable, "-c", "print('printed by a child')"])
    if does == "wait":
        while True:
            time.sleep(0.05)
    if does == "wait_deaf":
        while True:
            try:
                time.sleep(0.05)
            except Exception:
                task.log("info", "swallowed")
    if does == "wait_ignoring":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        subprocess.check_call(["sleep", "600"])  # which ignores it too
    if does == "leave_children":
        program = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
        for own_session in (False, True):
            child = subprocess.Popen(
                [sys.executable, "-c", program], start_new_session=own_session, stdout=subprocess.PIPE
            )
            child.stdout.readline()
            task.log("info", f"child {child.pid}")
    if does == "raise_trainer_error":
        raise TrainerError("the strange trainer has had enough", "strange")
    if does in ERRORS:
        raise ERRORS[does]


ERRORS = {
    "value_error": ValueError("no such thing"),
    "long_error": ValueError("x" * 10000),
    "exit": SystemExit(0),
    "memory": MemoryError(),
    "torch_memory": OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "cpu_memory": RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"),
    "disk_full": OSError(errno.ENOSPC, "No space left on device", "/disk/file"),
    "import": ImportError("cannot import name 'x' from 'y'"),
    "no_module": ModuleNotFoundError("No module named 'peft'", name="peft"),
    "recursion": RecursionError("maximum recursion depth exceeded"),
}


class StrangeModel(Model):
    """Says of each item the first class."""

    def __init__(self, task):
        self.task = task

    def save(self, folder):
        Path(folder, "first.txt").write_text("first")
        happen(self.task, "save")
        Path(folder, "sub").mkdir()
        Path(folder, "sub", "second.txt").write_text(os.environ.get("OMP_NUM_THREADS", ""))

    def predict(self, items):
        for number, item in enumerate(items):
            if number == 1:
                happen(self.task, "predict")
            yield Prediction(item.id, self.task.schema.name, self.task.schema.classes[0], 0.5)

    def metrics(self):
        return {"val_luck": 0.5}


class Strange(Trainer):
    """Learns nothing."""

    info = TrainerInfo(
        name="strange",
        summary="for tests",
        kinds=("nominal",),
        modalities=("text",),
        requires=(),
        licence="Apache-2.0",
        params=(Param("does", "text", "", "what happens"), Param("at", "text", "fit", "when")),
    )

    def fit(self, task):
        happen(task, "fit")
        task.metric("val", "luck", 0.5, 1)
        return StrangeModel(task)


class Needy(Strange):
    """Needs what nobody has."""

    info = TrainerInfo(
        name="strange-needy",
        summary="for tests",
        kinds=("nominal",),
        modalities=("text",),
        requires=(Requirement("json", "json"), Requirement("no_such_module", "no-such-package>=1.0")),
        licence="Apache-2.0",
        params=(),
    )
