"""What a login node has of SLURM."""

import os
import shutil
from typing import Any, Dict

PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol")
_LOCAL = ("/tmp", "/var/tmp")  # noqa: S108 - these are looked for, not used


def look(folder: str) -> Dict[str, Any]:
    """Where each program is, or None; and whether compute nodes may see `folder`."""
    found: Dict[str, Any] = {name: shutil.which(name) for name in PROGRAMS}
    found["shared"] = may_be_shared(folder)
    return found


def may_be_shared(folder: str) -> bool:
    """Whether a folder may be on storage that compute nodes share: each has a `/tmp` of its own."""
    paths = [os.path.abspath(folder), os.path.realpath(folder)]
    return not any(path == local or path.startswith(local + "/") for path in paths for local in _LOCAL)
