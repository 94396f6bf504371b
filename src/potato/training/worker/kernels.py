"""`python -m potato.training.worker.kernels`: whether this interpreter's torch computes on each GPU that it sees.

A line of JSON for torch itself, then one for each GPU, in torch's order, as soon as it is known: a GPU that hangs is
the one whose line does not come.
"""

import importlib.util
import json
import os
import warnings
from typing import IO, Any, Dict

from potato.training.trainers.memory import is_out_of_memory


def main() -> None:
    """Print the lines; a library's own prints go to stderr."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with answer, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if importlib.util.find_spec("torch") is None:
            _say(answer, {"torch": None})
            return
        import torch

        try_all(torch, answer)


def try_all(torch: Any, answer: IO[str]) -> None:
    """Say what this torch is, and try each GPU."""
    version = torch.version
    _say(
        answer,
        {
            "torch": str(torch.__version__),
            "file": os.path.abspath(torch.__file__),
            "built_for": version.cuda or getattr(version, "hip", None),
            "architectures": list(torch.cuda.get_arch_list()),
            "unavailable": "" if torch.cuda.is_available() else _unavailable(torch),
        },
    )
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        _say(answer, _tried(torch, number))


def _tried(torch: Any, number: int) -> Dict[str, Any]:
    """Compute something on one GPU, and wait for it."""
    record: Dict[str, Any] = {"number": number, "capability": "", "error": ""}
    try:
        record["capability"] = "sm_%d%d" % tuple(torch.cuda.get_device_capability(number))
        (torch.ones(8, device="cuda:%d" % number) * 2).sum().item()
        torch.cuda.synchronize(number)
    except RuntimeError as error:
        if not is_out_of_memory(error) and "out of memory" not in str(error):  # full, which is another matter
            record["error"] = _first_line(error)
    return record


def _unavailable(torch: Any) -> str:
    """Why torch finds no GPU at all, in its own words."""
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return _first_line(error)
    return "it finds no GPU"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _say(answer: IO[str], record: Dict[str, Any]) -> None:
    answer.write(json.dumps(record) + "\n")
    answer.flush()


if __name__ == "__main__":
    main()
