"""Why a job ended early: an exception becomes one sentence, a code, and an exit code."""

import errno
import os
import sys
import traceback
from dataclasses import dataclass
from typing import Dict, Type

from potato.training.contract.bundle import BundleError
from potato.training.contract.events import EventWriter
from potato.training.contract.exits import Exit
from potato.training.contract.spec import SpecError
from potato.training.trainers.base import Cancelled, PackageNeeded, ParamError, TrainerError, install_command
from potato.training.trainers.memory import is_out_of_memory
from potato.training.trainers.registry import UnknownTrainer


@dataclass(frozen=True)
class Failure:
    """How a job ended that did not finish."""

    exit: Exit
    code: str
    message: str
    install_hint: str = ""


class PackageMissing(Exception):
    """A package that the trainer needs is not installed for this interpreter."""

    def __init__(self, trainer: str, reason: str, install: str) -> None:
        super().__init__("Trainer '%s' could not be imported: %s. Install: %s" % (trainer, reason, install))
        self.install = install


def explain(error: BaseException, trainer: str) -> Failure:
    """What `error`, raised while the job of `trainer` ran, means for the run."""
    if isinstance(error, (Cancelled, KeyboardInterrupt)):
        return Failure(Exit.CANCELLED, "cancelled", "the run was cancelled")
    if isinstance(error, (SpecError, BundleError, ParamError)):
        return Failure(Exit.UNREADABLE, _UNREADABLE[_kind(error)], str(error))
    if isinstance(error, UnknownTrainer):
        message = "Trainer '%s' cannot be had from %s: %s" % (error.name, sys.executable, error)
        return Failure(Exit.PACKAGE_MISSING, "trainer_missing", message)
    if isinstance(error, PackageMissing):
        return Failure(Exit.PACKAGE_MISSING, "package_missing", str(error), error.install)
    if isinstance(error, ImportError):
        return _not_imported(error, trainer)
    if is_out_of_memory(error):
        return Failure(Exit.OUT_OF_MEMORY, "out_of_memory", _out_of_memory(error))
    if isinstance(error, TrainerError):
        return Failure(Exit.TRAINER_FAILED, error.code, str(error))
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = " while writing %s" % error.filename if error.filename else ""
        return Failure(Exit.TRAINER_FAILED, "disk_full", "The disk is full%s (%s)" % (where, error.strerror))
    if os.strerror(errno.ENOSPC) in str(error):  # as libraries that are not written in Python say it
        return Failure(Exit.TRAINER_FAILED, "disk_full", "The disk is full (%s)" % _short(error))
    message = "Trainer '%s' failed: %s: %s" % (trainer, type(error).__name__, _short(error))
    return Failure(Exit.TRAINER_FAILED, "trainer_failed", message)


def report(failure: Failure, error: BaseException, events: EventWriter) -> None:
    """Say it: for people in the events, for whoever mends it in stderr.log."""
    if failure.exit == Exit.CANCELLED:
        events.result(status="cancelled", notes=["the run was cancelled; what was finished before is still there"])
        return
    traceback.print_exception(type(error), error, error.__traceback__)
    events.error(failure.code, failure.message, failure.install_hint)


_UNREADABLE: Dict[Type[Exception], str] = {
    SpecError: "spec_unreadable",
    BundleError: "bundle_unreadable",
    ParamError: "bad_param",
}


def _kind(error: Exception) -> Type[Exception]:
    return next(kind for kind in _UNREADABLE if isinstance(error, kind))


def _not_imported(error: ImportError, trainer: str) -> Failure:
    from potato.training.trainers import registry

    if isinstance(error, PackageNeeded):
        install = install_command([error.pip])
    else:
        install = registry.get(trainer).info.install_command()
    missing = PackageMissing(trainer, str(error), install)
    return Failure(Exit.PACKAGE_MISSING, "package_missing", str(missing), missing.install)


def _out_of_memory(error: BaseException) -> str:
    detail = _short(error)
    return "Out of memory%s. Take a smaller batch_size or max_length, or a smaller base model" % (
        ": %s" % detail if detail else ""
    )


def _short(error: BaseException, limit: int = 500) -> str:
    text = str(error).strip()
    return text if len(text) <= limit else text[:limit] + "…"


__all__ = ["Failure", "PackageMissing", "explain", "report"]
