"""Whether the machine has killed processes for want of memory."""

import contextlib
import os


def kills() -> int:
    """How often the kernel has killed a process of this machine, or of this control group, to free memory; 0 where
    the system does not tell. Worth something only compared with an earlier number."""
    return oom_kills("/proc/vmstat") + oom_kills(_group("/proc/self/cgroup"))


def oom_kills(path: str) -> int:
    """The number on the line `oom_kill` of a file of the kernel's; 0 where there is none."""
    with contextlib.suppress(OSError, ValueError), open(path, encoding="ascii") as file:
        for line in file:
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _group(path: str) -> str:
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open(path, encoding="utf-8") as file:
            name = file.read().strip().rsplit("::", 1)[1].lstrip("/")
        return os.path.join("/sys/fs/cgroup", name, "memory.events")
    return os.devnull
