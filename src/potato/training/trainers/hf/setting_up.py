"""Before the first batch: seeds, threads, determinism, quiet libraries."""

import os
import random
from typing import Any

from potato.training.trainers.base import Task


def set_up(task: Task) -> None:
    """Make the run repeatable, and keep libraries from drawing progress bars into the log.

    The same seed gives the same predictions on one machine and device; a GPU operation that has no deterministic
    form is used all the same, with torch's own warning. Raises `ImportError` where a library is missing.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import numpy
    import torch

    task.check_stop()
    random.seed(task.seed)
    numpy.random.seed(task.seed % 2**32)
    torch.manual_seed(task.seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    if task.num_threads is not None:
        torch.set_num_threads(task.num_threads)


class Precision:
    """The numbers that a device computes in: bfloat16 where it has it, else float16 on CUDA, else float32.

    Weights stay in float32; `scaler` keeps float16's small gradients from vanishing, and is None elsewhere.
    """

    def __init__(self, device: str, wanted: str) -> None:
        import torch

        self._kind = device.split(":")[0]
        self.dtype: Any = None
        self.scaler: Any = None
        if wanted == "auto" and self._kind == "cuda":
            ampere = torch.cuda.get_device_capability(device)[0] >= 8
            self.dtype = torch.bfloat16 if ampere else torch.float16
            if not ampere:
                self.scaler = _scaler(torch)

    @property
    def name(self) -> str:
        """`bfloat16`, `float16` or `float32`."""
        return str(self.dtype).replace("torch.", "") if self.dtype is not None else "float32"

    def autocast(self) -> Any:
        """The context in which a model computes."""
        import torch

        return torch.autocast(self._kind, dtype=self.dtype, enabled=self.dtype is not None)


def _scaler(torch: Any) -> Any:
    """torch.amp has it since 2.3; torch.cuda.amp warns of its age since then."""
    newer = getattr(torch.amp, "GradScaler", None)
    return newer("cuda") if newer is not None else torch.cuda.amp.GradScaler()
