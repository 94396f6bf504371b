"""SLURM's ways to write a time limit."""

from __future__ import annotations

import re

_WITHOUT_DAYS = re.compile(r"(?P<hours>[0-9]+):(?P<minutes>[0-9]+):(?P<seconds>[0-9]+)")
_MINUTES = re.compile(r"(?P<minutes>[0-9]+)(:(?P<seconds>[0-9]+))?")
_WITH_DAYS = re.compile(r"(?P<days>[0-9]+)-(?P<hours>[0-9]+)(:(?P<minutes>[0-9]+)(:(?P<seconds>[0-9]+))?)?")
_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def seconds(text: str) -> int | None:
    """The seconds that `--time=text` asks for; None when it is none of SLURM's forms.

    The forms are `minutes`, `minutes:seconds`, `hours:minutes:seconds`, `days-hours`, `days-hours:minutes` and
    `days-hours:minutes:seconds` (sbatch's manual). Zero means no limit to SLURM; it is returned as 0.
    """
    for form in (_MINUTES, _WITHOUT_DAYS, _WITH_DAYS):
        if found := form.fullmatch(text):
            return sum(int(count) * _SECONDS[unit] for unit, count in found.groupdict().items() if count)
    return None
