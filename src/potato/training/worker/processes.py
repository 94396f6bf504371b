"""Telling processes apart, on Linux by `/proc` and elsewhere by `ps`.

A pid alone names nobody: the number is given out again. A pid with the instant its process started does.
"""

import os
import subprocess
from dataclasses import dataclass
from typing import Iterator, List, Optional

_PROC = "/proc"


@dataclass(frozen=True)
class Stat:
    """What the system says of one process. `started` is comparable only with itself, on one boot."""

    pid: int
    group: int
    state: str
    started: str

    @property
    def lives(self) -> bool:
        """Whether it still runs: a zombie does not."""
        return not self.state.startswith(("Z", "X"))


def has_proc() -> bool:
    """Whether this system has a Linux `/proc`."""
    return os.path.exists(os.path.join(_PROC, "self", "stat"))


def boot_id() -> str:
    """Which boot of the machine this is; empty where the system does not say."""
    try:
        with open(os.path.join(_PROC, "sys/kernel/random/boot_id"), encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def stat(pid: int) -> Optional[Stat]:
    """The process with this pid, or None."""
    if has_proc():
        return _proc_stat(pid)
    found = _ps(["-p", str(pid)])
    return found[0] if found else None


def group(number: int) -> List[Stat]:
    """The living processes of a process group."""
    everything = map(_proc_stat, _pids()) if has_proc() else iter(_ps(["-A"]))
    return [one for one in everything if one is not None and one.group == number and one.lives]


def marked(mark: str) -> List[Stat]:
    """The living processes with `mark` (`NAME=value`) in the environment that they started with.

    Linux only, and only those of this account; elsewhere, and for others', nothing is found.
    """
    if not has_proc():
        return []
    wanted = mark.encode()
    found = (_proc_stat(pid) for pid in _pids() if wanted in _environment(pid))
    return [one for one in found if one is not None and one.lives]


def _pids() -> Iterator[int]:
    for name in os.listdir(_PROC):
        if name.isdigit():
            yield int(name)


def _environment(pid: int) -> List[bytes]:
    try:
        with open("%s/%d/environ" % (_PROC, pid), "rb") as file:
            return file.read().split(b"\0")
    except OSError:  # it ended while we looked, or belongs to somebody else
        return []


def _proc_stat(pid: int) -> Optional[Stat]:
    try:
        with open("%s/%d/stat" % (_PROC, pid), "rb") as file:
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before it may hold spaces and parentheses
    return Stat(pid, int(fields[2]), fields[0], fields[19])


def _ps(selection: List[str]) -> List[Stat]:
    command = ["ps", "-o", "pid=", "-o", "pgid=", "-o", "stat=", "-o", "lstart=", *selection]
    answer = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(os.environ, LC_ALL="C"), check=False
    )
    lines = (line.split(None, 3) for line in answer.stdout.decode("utf-8", "replace").splitlines())
    return [Stat(int(line[0]), int(line[1]), line[2], line[3].strip()) for line in lines if len(line) == 4]
