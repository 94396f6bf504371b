"""What a call can fail with: a stable code, a sentence, and what to do."""

import errno
from typing import Any, Dict


class CallFailed(Exception):
    """A call that could not be answered. `more` goes along in its answer."""

    def __init__(self, code: str, error: str, hint: str = "") -> None:
        super().__init__(error)
        self.code = code
        self.hint = hint
        self.more: Dict[str, Any] = {}

    def as_answer(self) -> Dict[str, Any]:
        """As the server gets it."""
        return dict(self.more, ok=False, code=self.code, error=str(self), hint=self.hint)


def is_full(error: OSError) -> bool:
    """Whether the disk, or this account's part of it, is used up."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def disk_full(path: str, quota: bool) -> CallFailed:
    """No room at `path`, on the disk or for this account."""
    if quota:
        hint = "delete something of this account's there, or set remote_dir to a folder on another disk"
        return CallFailed("remote_disk_full", "The disk quota of this account is used up at %s" % path, hint)
    hint = "make room there, or set remote_dir to a folder on another disk"
    return CallFailed("remote_disk_full", "The disk that holds %s is full" % path, hint)


def of_disk(error: OSError, path: str) -> CallFailed:
    """What an `OSError` at `path` means for a person."""
    if is_full(error):
        return disk_full(path, error.errno == errno.EDQUOT)
    where = error.filename if isinstance(error.filename, str) else path
    return CallFailed("host_error", "%s: %s" % (where, error.strerror or error))
