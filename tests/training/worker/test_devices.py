"""Which device a run gets. The torch here is a made-up one, with the GPUs that a test gives it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from potato.training.trainers.base import TrainerError
from potato.training.worker.devices import Device, choose

NO_IMAGE = "CUDA error: no kernel image is available for execution on the device\nCUDA kernel errors might be"


class FakeTorch:
    """As much of torch as is asked: `gpus` maps a GPU's name to what happens when it computes."""

    def __init__(self, gpus: dict[str, str | None] | None = None, metal: bool = False) -> None:
        names = list(gpus or {})
        self.gpus = gpus or {}
        self.cuda = SimpleNamespace(
            is_available=lambda: bool(names), device_count=lambda: len(names), get_device_name=names.__getitem__
        )
        self.backends = SimpleNamespace(mps=SimpleNamespace(is_available=lambda: metal, is_built=lambda: metal))
        self.names = names

    def ones(self, size: int, device: str) -> Any:
        import numpy

        failure = self.gpus[self.names[int(device.split(":")[1])]]
        if failure:
            raise RuntimeError(failure)
        return numpy.ones(size)


TWO = {"NVIDIA A40": None, "NVIDIA H100": None}
OLD = {"Tesla K80": NO_IMAGE}


@pytest.mark.parametrize(
    ("torch", "wanted", "name", "text"),
    [
        (FakeTorch(TWO), "auto", "cuda:0", "CUDA (cuda:0 NVIDIA A40)"),
        (FakeTorch(TWO), "cuda", "cuda:0", "CUDA (cuda:0 NVIDIA A40)"),
        (FakeTorch(TWO), "cuda:1", "cuda:1", "CUDA (cuda:1 NVIDIA H100)"),
        (FakeTorch(TWO), "cpu", "cpu", "CPU"),
        (FakeTorch(metal=True), "auto", "mps", "Apple Metal (mps)"),
        (FakeTorch(TWO, metal=True), "auto", "cuda:0", "CUDA (cuda:0 NVIDIA A40)"),
        (FakeTorch(TWO, metal=True), "mps", "mps", "Apple Metal (mps)"),
        (FakeTorch(), "auto", "cpu", "CPU"),
        (FakeTorch({"Tesla K80": NO_IMAGE, "NVIDIA A40": None}), "auto", "cuda:1", "CUDA (cuda:1 NVIDIA A40)"),
        (FakeTorch({"NVIDIA A40": "CUDA out of memory. Tried"}), "cuda", "cuda:0", "CUDA (cuda:0 NVIDIA A40)"),
    ],
)
def test_the_best_device_that_is_there(torch: FakeTorch, wanted: str, name: str, text: str) -> None:
    device = choose(torch, wanted)
    assert (device.name, device.text, device.warnings) == (name, text, ())


@pytest.mark.parametrize(
    ("torch", "wanted", "name", "warning"),
    [
        (FakeTorch(), "cuda:1", "cpu", "the device cuda:1 is not there; the run uses CPU"),
        (FakeTorch(), "mps", "cpu", "the device mps is not there; the run uses CPU"),
        (FakeTorch(metal=True), "cuda", "mps", "the device cuda is not there; the run uses Apple Metal (mps)"),
        (FakeTorch(TWO), "cuda:7", "cuda:0", "the device cuda:7 is not there; the run uses CUDA (cuda:0 NVIDIA A40)"),
        (
            FakeTorch(OLD),
            "auto",
            "cpu",
            "This host's torch has no kernels for any of its GPUs: cuda:0 Tesla K80: "
            "CUDA error: no kernel image is available for execution on the device",
        ),
    ],
)
def test_a_device_that_is_not_there_falls_back_with_a_warning(
    torch: FakeTorch, wanted: str, name: str, warning: str
) -> None:
    device = choose(torch, wanted)
    assert (device.name, device.warnings) == (name, (warning,))


def test_a_gpu_that_was_asked_for_and_torch_has_no_kernels_for_is_an_error() -> None:
    with pytest.raises(TrainerError, match=r"^This host's torch has no kernels for any of its GPUs: cuda:0 Tesla K80"):
        choose(FakeTorch(OLD), "cuda")


def test_a_run_records_the_gpus_model() -> None:
    assert Device("cuda:0", "NVIDIA A40").described == "cuda:0 NVIDIA A40"
    assert Device("cpu").described == "cpu"
