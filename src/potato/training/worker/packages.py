"""Which of a trainer's packages this interpreter has, found without importing any."""

import importlib.util
import re
import sys
from typing import List, Optional, Tuple

from potato.training.trainers.base import Requirement, TrainerInfo
from potato.training.worker.failures import PackageMissing


def missing(info: TrainerInfo) -> List[str]:
    """Why each package of the trainer that cannot be used cannot be; empty where all are there."""
    return [reason for reason in map(lacking, info.requires) if reason]


def require(info: TrainerInfo) -> None:
    """Raise `PackageMissing` for the first package that is not there or too old."""
    reasons = missing(info)
    if reasons:
        raise PackageMissing(info.name, reasons[0], info.install_command(sys.executable))


def version(distribution: str) -> Optional[str]:
    """The installed version of a distribution, or None."""
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:  # a module on the path without its metadata: take it as it is
        return None


def lacking(requirement: Requirement) -> Optional[str]:
    """Why this package cannot be used here, in a sentence; None where it can."""
    if not _found(requirement.module):
        return "No module named '%s'" % requirement.module
    floor = re.match(r"\s*([\w.-]+)\s*>=\s*([\w.]+)", requirement.pip)
    installed = version(floor.group(1)) if floor else None
    if floor and installed and _parts(installed) and _parts(installed) < _parts(floor.group(2)):
        return "%s %s is installed and %s is needed" % (floor.group(1), installed, requirement.pip)
    return None


def _found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # a parent is missing, or a half-installed module has no spec
        return False


def _parts(version: str) -> Tuple[int, ...]:
    """The leading numbers of a version without zeros at their end: 4.46.0.dev0 → (4, 46)."""
    numbers = re.match(r"(\d+(?:\.\d+)*?)(?:\.0+)*(?!\.?\d)", version)
    return tuple(int(part) for part in numbers.group(1).split(".")) if numbers else ()
