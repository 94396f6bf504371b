"""Whether this machine ends an account's processes when its last log-in ends."""

import os
import re
from typing import Iterator, Optional

KILLS = "KillUserProcesses"
_FOLDERS = ("usr/lib/systemd/logind.conf.d", "run/systemd/logind.conf.d", "etc/systemd/logind.conf.d")


def lingering(user: str, root: str = "/") -> Optional[str]:
    """`KillUserProcesses` where systemd ends what a job leaves running and this account is not excepted; else None.

    From systemd's own files: `logind.conf`, then those beside it, the last word counts. Only Linux with systemd has it.
    """
    if not os.path.isdir(os.path.join(root, "run/systemd/system")):
        return None
    kills = False
    for path in _files(root):
        kills = _said(path, kills)
    excepted = user == "root" or os.path.exists(os.path.join(root, "var/lib/systemd/linger", user))
    return KILLS if kills and not excepted else None


def _files(root: str) -> Iterator[str]:
    yield os.path.join(root, "etc/systemd/logind.conf")
    found = []
    for folder in _FOLDERS:
        path = os.path.join(root, folder)
        names = os.listdir(path) if os.path.isdir(path) else []
        found += [(name, os.path.join(path, name)) for name in names if name.endswith(".conf")]
    for _, path in sorted(found, key=lambda entry: entry[0]):
        yield path


def _said(path: str, before: bool) -> bool:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            values = re.findall(r"(?m)^\s*%s\s*=\s*(\S+)" % KILLS, file.read())
    except OSError:
        return before
    return values[-1].lower() in ("yes", "true", "on", "1") if values else before
