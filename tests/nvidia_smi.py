"""A stand-in for `nvidia-smi`, which answers in the shapes that real ones were seen to print."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from machines import PYTHON

PATH = "~/bin:/usr/local/bin:/usr/bin:/bin"
"""For a backend's `env`: what stands in `~/bin` is found first."""
FILE = "bin/nvidia-smi"

NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)

_PROGRAM = """#!{python} -SE
import sys

gpus, said, code, stuck = {gpus!r}, {said!r}, {code!r}, {stuck!r}
options = dict(argument.lstrip("-").partition("=")[::2] for argument in sys.argv[1:])
units = {{"memory.free": " MiB", "memory.total": " MiB", "memory.used": " MiB", "utilization.gpu": " %"}}
known = list(units) + "index uuid name mig.mode.current compute_cap driver_version".split()


def value(gpu, field, bare):
    text = str(gpu[field])
    return text + units[field] if field in units and not bare and text.isdigit() else text


if stuck:
    import time

    time.sleep(stuck)
if "L" in options or "list-gpus" in options:
    for gpu in gpus:
        print("GPU %s: %s (UUID: %s)" % (gpu["index"], gpu["name"], gpu["uuid"]))
        for number, (profile, uuid) in enumerate(gpu["mig"]):
            print("  MIG %-11s Device %2d: (UUID: %s)" % (profile, number, uuid))
elif "query-gpu" in options:
    shape = options.get("format", "").split(",")
    fields = options["query-gpu"].replace("gpu_", "").split(",")
    for field in fields:
        if field not in known:
            print('Field "%s" is not a valid field to query.' % field)
            sys.exit(2)
    if "noheader" not in shape:
        print(", ".join(field + (" [%s]" % units[field].strip() if field in units else "") for field in fields))
    for gpu in gpus:
        print(", ".join(value(gpu, field, "nounits" in shape) for field in fields))
sys.stdout.write(said)
sys.exit(code)
"""


@dataclass(frozen=True)
class Gpu:
    """One GPU. Numbers may be `[N/A]`, `[Unknown Error]`, or what else was seen there."""

    index: int
    free: int | str = 40000
    total: int | str = 40960
    utilisation: int | str = 0
    name: str = "NVIDIA A100-SXM4-40GB"
    mig: Sequence[tuple[str, str]] = ()

    @property
    def uuid(self) -> str:
        """Its UUID, made of its index."""
        return f"GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a{self.index:02d}"

    def fields(self) -> dict[str, object]:
        """Its fields by `nvidia-smi`'s names."""
        return {
            "index": self.index,
            "uuid": self.uuid,
            "name": self.name,
            "memory.free": self.free,
            "memory.total": self.total,
            "memory.used": 0,
            "utilization.gpu": self.utilisation,
            "mig.mode.current": "Enabled" if self.mig else "Disabled",
            "compute_cap": "8.0",
            "driver_version": "550.54.15",
            "mig": list(self.mig),
        }


def program(*gpus: Gpu, said: str = "", code: int = 0, stuck: float = 0) -> str:
    """Its text: `stuck` seconds go by, then it lists these GPUs, says `said` on stdout, and ends with `code`."""
    table = json.loads(json.dumps([gpu.fields() for gpu in gpus]))
    return _PROGRAM.format(python=PYTHON, gpus=table, said=said, code=code, stuck=stuck)


TORCH = """
import os

__version__ = "2.4.0"


class version:
    cuda, hip = "12.1", None


class cuda:
    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: len(os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")))
    get_device_name = staticmethod(lambda number: "Tesla K40m")
    get_device_capability = staticmethod(lambda number=0: (3, 5))
    get_arch_list = staticmethod(lambda: ["sm_80", "sm_90"])
    synchronize = staticmethod(lambda device=None: None)


class backends:
    mps = None


class Ones:
    def __mul__(self, other):
        return self

    def sum(self):
        return self

    def item(self):
        return 16.0


def ones(*sizes, device="cpu", **more):
    shown = os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")
    if any(shown[int(device.partition(":")[2] or 0)].endswith(last) for last in {too_old}):
        raise RuntimeError("CUDA error: no kernel image is available for execution on the device")
    return Ones()
"""
"""A stand-in for torch."""


def torch(*too_old: Gpu) -> str:
    """The text of `torch/__init__.py`: it computes on every GPU but these, which its kernels are too new for."""
    return TORCH.replace("{too_old}", repr([gpu.uuid[-2:] for gpu in too_old]))
