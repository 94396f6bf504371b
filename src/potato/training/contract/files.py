"""Writing files so that a reader, or a crash, never meets half of one."""

import errno
import hashlib
import json
import os
import re
import threading
from typing import Any, Callable

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What file systems say that have no hard links."""


def write_atomic(path: str, data: bytes) -> None:
    """Put `data` at `path`: written beside, flushed to disk, renamed. Raises `OSError`, leaving what was there."""
    _write(path, data, os.replace)


def write_new(path: str, data: bytes) -> None:
    """As `write_atomic`, where nothing is at `path`. Raises `FileExistsError` where something is, or came meanwhile."""
    _write(path, data, _link)


def write_json(path: str, value: Any) -> None:
    """`write_atomic` of `value` as readable JSON with sorted keys."""
    write_atomic(path, as_json(value))


def as_json(value: Any) -> bytes:
    """`value` as readable JSON with sorted keys."""
    return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()


def sync_folder(path: str) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_file(path: str) -> str:
    """The file's SHA-256 as hex digits."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(1 << 20), b""):
            digest.update(piece)
    return digest.hexdigest()


def slug(name: str, number: int) -> str:
    """A file name for any Unicode `name`: `number` keeps it unique, the letters are for people."""
    letters = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:40]
    return "%d-%s" % (number, letters) if letters else str(number)


def _write(path: str, data: bytes, place: Callable[[str, str], None]) -> None:
    beside = "%s.%d.%d.part" % (path, os.getpid(), threading.get_ident())
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        place(beside, path)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
    sync_folder(os.path.dirname(path) or ".")


def _link(beside: str, path: str) -> None:
    """Give a file its name, which nothing has yet: of several at once, one does."""
    try:
        os.link(beside, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from None
        os.replace(beside, path)
