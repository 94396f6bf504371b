"""Potato's own code where compute nodes can read it."""

import os
import shutil

import potato

PACKAGES = ("contract", "trainers", "worker")
"""What a worker needs, of `potato.training`."""


def root() -> str:
    """The folder that this very Potato is imported from."""
    return os.path.dirname(os.path.dirname(os.path.abspath(potato.__file__)))


def shared(workdir: str, copy: str) -> str:
    """A folder for `PYTHONPATH` on shared storage: where the code is already, if that lies beside the work folder, as
    it does for a server that brought it; else `copy`, made whole or not at all. An installation is no such folder: it
    holds the agent's packages too, and may be of this machine alone."""
    here = root()
    if os.path.dirname(os.path.dirname(here)) in (workdir, os.path.dirname(workdir)):
        return here
    if not os.path.isdir(copy):
        beside = "%s.%d.part" % (copy, os.getpid())
        shutil.rmtree(beside, ignore_errors=True)
        _copy(here, beside)
        os.rename(beside, copy)
    return copy


def _copy(source: str, target: str) -> None:
    for name in ("potato", os.path.join("potato", "training")):
        os.makedirs(os.path.join(target, name))
        shutil.copyfile(os.path.join(source, name, "__init__.py"), os.path.join(target, name, "__init__.py"))
    for name in PACKAGES:
        path = os.path.join("potato", "training", name)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(os.path.join(source, path), os.path.join(target, path), ignore=ignored)
