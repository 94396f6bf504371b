"""Writing files so that a reader, or a crash, never meets half of one."""

import hashlib
import json
import os
import re
import threading
from typing import Any


def write_atomic(path: str, data: bytes) -> None:
    """Put `data` at `path`: written beside, flushed to disk, renamed. Raises `OSError`, leaving what was there."""
    beside = "%s.%d.%d.part" % (path, os.getpid(), threading.get_ident())
    try:
        with open(beside, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise
    sync_folder(os.path.dirname(path) or ".")


def write_json(path: str, value: Any) -> None:
    """`write_atomic` of `value` as readable JSON with sorted keys."""
    write_atomic(path, (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode())


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
