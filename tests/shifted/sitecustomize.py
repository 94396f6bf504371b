"""On the path of a process, lets its clock be wrong by as many seconds as the file `SHIFTED_CLOCK` says."""

import os
import time

_right = time.time


def _shifted():
    with open(os.environ["SHIFTED_CLOCK"], encoding="ascii") as file:
        return _right() + float(file.read() or 0)


if "SHIFTED_CLOCK" in os.environ:
    time.time = _shifted
