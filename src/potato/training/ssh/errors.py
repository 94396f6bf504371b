"""How a way by ssh can fail, each in a sentence of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from potato.errors import PotatoError

OLDEST = (3, 8)
"""The oldest Python that Potato's part on a host runs on."""


NAMELESS = frozenset({"no_gpu_free", "no_gpu_usable", "no_kernels"})
"""The host's failures whose sentence stands for itself."""


class Lost(Exception):
    """A connection that stood is gone; the text says how. Worth another try."""


class NoSsh(PotatoError):
    """This machine has no ssh."""

    code = "no_ssh"
    status = 500

    def __init__(self) -> None:
        super().__init__(
            "There is no ssh on the PATH of the server",
            hint="install OpenSSH's client on the machine that Potato runs on (Debian: openssh-client)",
        )


class SshFailed(PotatoError):
    """Nobody could log in; `line` is ssh's own last word. `busy`: it may be let in when it tries again soon."""

    code = "ssh_failed"
    status = 502

    def __init__(self, host: str, line: str, hint: str | None = None, busy: bool = False) -> None:
        super().__init__(
            f"ssh to {host} failed: {line}",
            hint=hint or f"`ssh {host} true` must succeed, without a question, from the account that runs the server",
        )
        self.line = line
        self.busy = busy


class PythonNotFound(PotatoError):
    """`python` names nothing there."""

    code = "python_not_found"
    status = 502

    def __init__(self, python: str, host: str) -> None:
        super().__init__(
            f"{python} was not found on {host}",
            hint="set the backend's `python` to an interpreter that exists there, or its `env` to a PATH that has it",
        )


class PythonTooOld(PotatoError):
    """The host's Python cannot run what travels."""

    code = "python_too_old"
    status = 502

    def __init__(self, python: str, host: str, found: str, executable: str) -> None:
        needed = ".".join(map(str, OLDEST))
        super().__init__(
            f"{python} on {host} is Python {found} ({executable}), and Potato needs {needed} or newer there",
            hint="set the backend's `python` to a newer interpreter",
        )


class PythonBroken(PotatoError):
    """The interpreter is there, and does not start."""

    code = "python_broken"
    status = 502

    def __init__(self, python: str, host: str, line: str) -> None:
        super().__init__(
            f"{python} could not be started on {host}: {line}",
            hint=f"`ssh {host} {python} -V` must print its version",
        )


class HostFailed(PotatoError):
    """The program on the host answered that it cannot do what it was asked. `answer` is all that it said."""

    status = 502

    def __init__(
        self, host: str, code: str, message: str, hint: str | None, answer: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message if host in message or code in NAMELESS else f"{host}: {message}", hint=hint)
        self.answer = answer or {}
        self.code = code  # type: ignore[misc]  # the host's own, stable like ours


class Disturbed(PotatoError):
    """Something there writes where only frames may go."""

    code = "connection_disturbed"
    status = 502

    def __init__(self, host: str, what: str) -> None:
        super().__init__(
            f"Something on {host} writes into the connection: {what}",
            hint="a start-up file of the login shell there starts what goes on printing; send its output away",
        )


class HostSilent(PotatoError):
    """The connection stands, and nothing comes."""

    code = "host_silent"
    status = 504

    def __init__(self, host: str, doing: str, seconds: float) -> None:
        super().__init__(
            f"{host} said nothing for {seconds:g} seconds while {doing}",
            hint="the machine may be overloaded, or one of its disks may hang; try again",
        )
