"""The call `hello`: which machine this is, and whether `remote_dir` can be used."""

import getpass
import os
import platform
import sys
import time
from typing import Any, Dict, Mapping

from potato.training.host.failures import CallFailed, is_full, of_disk
from potato.training.host.lingering import lingering
from potato.training.host.session import Session

TRIAL = b"\0" * (64 << 10)
"""Enough that a file system finds out that it has no room."""


def hello(session: Session, call: Mapping[str, Any]) -> Dict[str, Any]:
    """Facts about this machine and account. Raises `CallFailed`."""
    try_to_write(session.remote_dir)
    room = os.statvfs(session.remote_dir)
    user = _user()
    return {
        "host": platform.node(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "home": os.path.expanduser("~"),
        "remote_dir": session.remote_dir,
        "user": user,
        "clock": time.time(),
        "free_mb": room.f_bavail * room.f_frsize >> 20,
        "os": platform.platform(),
        "lingering": lingering(user),
    }


def try_to_write(folder: str) -> None:
    """Write and flush a file. Raises `CallFailed`."""
    path = os.path.join(folder, ".trial-%d" % os.getpid())
    try:
        try:
            with open(path, "wb") as file:
                file.write(TRIAL)
                file.flush()
                os.fsync(file.fileno())
        finally:
            if os.path.exists(path):
                os.unlink(path)
    except OSError as error:
        if is_full(error):
            raise of_disk(error, folder) from error
        told = "%s cannot be written: %s" % (folder, error.strerror or error)
        hint = "set remote_dir to a folder that this account may write in"
        raise CallFailed("remote_dir_not_writable", told, hint) from error


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a number without a name
        return str(os.getuid())
