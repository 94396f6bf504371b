"""The command line of the system's own ssh, which reads the account's configuration, keys and known hosts."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from potato.training.ssh import ciphers
from potato.training.ssh.errors import NoSsh
from potato.training.ssh.timing import SshTiming

SHELL = "exec sh"
"""All that any login shell has to understand; everything else goes in on stdin."""

_ALWAYS = {
    "BatchMode": "yes",
    "ControlMaster": "no",
    "ControlPath": "none",
    "ClearAllForwardings": "yes",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "LogLevel": "INFO",
    "PermitLocalCommand": "no",
    "RequestTTY": "no",
    "TCPKeepAlive": "yes",
    "Tunnel": "no",
}
"""Nobody is there to answer a prompt, and nothing of the account's configuration may come between the two programs."""
_SINCE = {
    (7, 6): {"RemoteCommand": "none"},
    (8, 7): {"ForkAfterAuthentication": "no", "SessionType": "default", "StdinNull": "no"},
}
"""An older ssh does not know these, and refuses what it does not know."""


@dataclass(frozen=True)
class Destination:
    """Whom ssh is to reach: any name that it takes, and what overrides its configuration."""

    host: str
    user: str | None = None
    port: int | None = None
    identity_file: str | None = None

    def arguments(self) -> list[str]:
        """As ssh's arguments, the host last."""
        made: list[str] = []
        for flag, value in (("-l", self.user), ("-p", self.port), ("-i", self.identity_file)):
            made += [flag, str(value)] if value is not None else []
        return [*made, "--", self.host]


def log_in(destination: Destination, timing: SshTiming) -> list[str]:
    """The command line that has a shell there read its stdin. Raises `NoSsh`."""
    program = find()
    options = {
        **_ALWAYS,
        "ConnectTimeout": str(timing.connect),
        "ServerAliveInterval": str(timing.alive_interval),
        "ServerAliveCountMax": str(timing.alive_count),
    }
    for version, more in _SINCE.items():
        if _version(program) >= version:
            options.update(more)
    offered = ciphers.preferred(program, destination.arguments())
    if offered is not None:
        options["Ciphers"] = offered
    flags = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    return [program, *flags, *destination.arguments(), SHELL]


def find() -> str:
    """The ssh program of this machine. Raises `NoSsh`."""
    found = shutil.which("ssh")
    if found is None:
        raise NoSsh
    return found


def identity_files(destination: Destination) -> Sequence[str]:
    """The key files that ssh would try, whether or not they are there; none where ssh does not tell."""
    try:
        asked = [find(), "-G", *destination.arguments()]
        done = subprocess.run(asked, capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return []
    found = (line.partition(" ") for line in done.stdout.decode("utf-8", "replace").splitlines())
    return [value for name, _, value in found if name == "identityfile"]


@lru_cache(maxsize=4)
def _version(program: str) -> tuple[int, int]:
    """OpenSSH's version; (0, 0) for a program that does not say."""
    try:
        done = subprocess.run([program, "-V"], capture_output=True, timeout=10, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return (0, 0)
    found = re.search(rb"OpenSSH_(\d+)\.(\d+)", done.stderr + done.stdout)
    return (int(found.group(1)), int(found.group(2))) if found else (0, 0)
