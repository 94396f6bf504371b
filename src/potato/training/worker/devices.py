"""Where a model is trained: CUDA, Apple's Metal, or the CPU."""

from dataclasses import dataclass
from typing import Any, List, Optional, Tuple

from potato.training.trainers.base import TrainerError, TrainerInfo
from potato.training.trainers.memory import is_out_of_memory

NO_KERNELS = "This host's torch has no kernels for any of its GPUs"


@dataclass(frozen=True)
class Device:
    """A device that is there. `name` is torch's (`cpu`, `cuda:0`, `mps`); `model` the GPU's own name."""

    name: str
    model: str = ""
    warnings: Tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """As the checks say it: `CPU`, `Apple Metal (mps)`, `CUDA (cuda:0 NVIDIA A40)`."""
        if self.name == "cpu":
            return "CPU"
        return "Apple Metal (mps)" if self.name == "mps" else "CUDA (%s)" % self.described

    @property
    def described(self) -> str:
        """As a run records it: `cpu`, `mps`, `cuda:0 NVIDIA A40`."""
        return ("%s %s" % (self.name, self.model)).strip()


def resolve(info: TrainerInfo, wanted: str) -> Device:
    """The device that a run of this trainer gets. Only a trainer that needs torch costs its import."""
    if any(requirement.module == "torch" for requirement in info.requires):
        import torch

        return choose(torch, wanted)
    return Device("cpu")


def choose(torch: Any, wanted: str) -> Device:
    """`wanted` (`auto`, `cpu`, `cuda`, `cuda:N`, `mps`) where it is there, else the next best, with a warning.

    Raises `TrainerError` (`no_kernels`) where a GPU was asked for and torch was built for none of those here.
    """
    if wanted == "cpu":
        return Device("cpu")
    usable, unusable = _cuda(torch)
    if unusable and not usable and wanted.startswith("cuda"):
        raise TrainerError(NO_KERNELS + ": " + "; ".join(unusable), code="no_kernels")
    found = usable + _metal(torch) + [Device("cpu")]
    warnings = tuple(["%s: %s" % (NO_KERNELS, "; ".join(unusable))] if unusable and not usable else [])
    for device in found:
        if wanted == "auto" or device.name == wanted or (wanted == "cuda" and device.name.startswith("cuda")):
            return Device(device.name, device.model, warnings)
    best = found[0]
    warnings += ("the device %s is not there; the run uses %s" % (wanted, best.text),)
    return Device(best.name, best.model, warnings)


def _cuda(torch: Any) -> Tuple[List[Device], List[str]]:
    """The GPUs that torch can use, and why it cannot use each other one."""
    usable: List[Device] = []
    unusable: List[str] = []
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        model = torch.cuda.get_device_name(number)
        reason = _try(torch, "cuda:%d" % number)
        if reason is None:
            usable.append(Device("cuda:%d" % number, model))
        else:
            unusable.append("cuda:%d %s: %s" % (number, model, reason))
    return usable, unusable


def _try(torch: Any, name: str) -> Optional[str]:
    """Compute something there; the first line of what went wrong, or None."""
    try:
        (torch.ones(8, device=name) * 2).sum().item()
    except RuntimeError as error:
        if is_out_of_memory(error):
            return None  # it computes; that it is full is another matter, said when the run meets it
        return (str(error).strip().splitlines() or [type(error).__name__])[0]
    return None


def _metal(torch: Any) -> List[Device]:
    backend = getattr(torch.backends, "mps", None)
    return [Device("mps")] if backend is not None and backend.is_available() and backend.is_built() else []
