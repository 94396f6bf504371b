"""The interpreters of this machine, and how Potato's own code comes along into them."""

import os
import platform
import shutil
import sys
from typing import Any, Dict, Mapping

from potato.training.agent.slurm import code
from potato.training.host.failures import CallFailed


def interpreter(wanted: Any) -> str:
    """The interpreter that is wanted, as an absolute path; this very one where none is named. Raises `CallFailed`."""
    if not wanted:
        return sys.executable
    found = shutil.which(os.path.expanduser(str(wanted)))
    if found is None:
        hint = "set python to an interpreter that exists there"
        raise CallFailed("python_not_found", "%s was not found on %s" % (wanted, platform.node()), hint)
    return os.path.abspath(found)


def with_code(env: Mapping[str, str]) -> Dict[str, str]:
    """An environment in which this very Potato is found first."""
    path = [code.root()] + [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return dict(env, PYTHONPATH=os.pathsep.join(path))
