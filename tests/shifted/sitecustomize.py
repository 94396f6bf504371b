"""On the path of a process, lets its clock be wrong by as many seconds as the file `SHIFTED_CLOCK` says."""

import importlib.machinery
import importlib.util
import os
import sys
import time
from pathlib import Path

_right = time.time


def _shifted():
    with open(os.environ["SHIFTED_CLOCK"], encoding="ascii") as file:
        return _right() + float(file.read() or 0)


def _give_way():
    """Let another file of this name, further down the path, have its turn as well."""
    path = [folder for folder in sys.path if folder != str(Path(__file__).parent)]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if found is not None:
        found.loader.exec_module(importlib.util.module_from_spec(found))


if "SHIFTED_CLOCK" in os.environ:
    time.time = _shifted
_give_way()
