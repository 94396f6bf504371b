"""`python -m potato.training.worker.probe`: what this interpreter can train with, as JSON on stdout.

A process of its own, so that the one that asks imports no training library.
"""

import argparse
import importlib.util
import json
import os
import platform
import sys
from typing import Any, Dict, List, Optional

from potato.training.trainers import registry
from potato.training.trainers.base import TrainerError, TrainerInfo
from potato.training.worker import devices, packages


def probe(device: str) -> Dict[str, Any]:
    """What a run here would get.

    `device` holds `name`, `text`, `warnings` and `error`; `torch` its version or null; `trainers` one entry each with
    `name`, `ok`, `missing` (sentences), `install` (the command that mends it) and `fine_tunes`.
    """
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "host": platform.node(),
        "torch": packages.version("torch"),
        "device": _device(device),
        "trainers": [_trainer(info) for info in registry.infos()],
    }


def main(arguments: Optional[List[str]] = None) -> None:
    """Print the probe's answer; a library's own prints go to stderr."""
    parser = argparse.ArgumentParser(prog="python -m potato.training.worker.probe", description=__doc__)
    parser.add_argument("--device", default="auto", help="the device that a run would ask for")
    options = parser.parse_args(arguments)
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    with answer:
        json.dump(probe(options.device), answer)


def _device(wanted: str) -> Dict[str, Any]:
    try:
        found = _choose(wanted)
    except (TrainerError, ImportError, OSError) as error:  # the last two: an installation of torch that is broken
        return {"name": None, "text": None, "warnings": [], "error": str(error)}
    return {"name": found.name, "text": found.text, "warnings": list(found.warnings), "error": None}


def _choose(wanted: str) -> devices.Device:
    if importlib.util.find_spec("torch") is None:
        return devices.Device("cpu")
    import torch

    return devices.choose(torch, wanted)


def _trainer(info: TrainerInfo) -> Dict[str, Any]:
    lacks = packages.missing(info)
    return {
        "name": info.name,
        "ok": not lacks,
        "missing": lacks,
        "install": info.install_command() if lacks else "",
        "fine_tunes": info.fine_tunes,
    }


if __name__ == "__main__":
    main()
