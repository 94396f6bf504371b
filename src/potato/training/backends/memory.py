"""Memory: what a process group uses, and whether the machine has killed for want of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import psutil  # type: ignore[import-untyped]


def used_mb(pids: Iterable[int]) -> float:
    """What these processes use together in MB; memory that they share counts once (PSS, where the system tells)."""
    return sum(_bytes(pid) for pid in pids) / 1e6


def kills() -> int:
    """How often the kernel has killed a process of this machine, or of this control group, to free memory; 0 where
    the system does not tell. Worth something only compared with an earlier number."""
    return _vmstat(Path("/proc/vmstat")) + _cgroup(Path("/proc/self/cgroup"))


def _bytes(pid: int) -> int:
    with contextlib.suppress(psutil.Error, OSError):  # it may have ended, or belong to another account
        info = psutil.Process(pid).memory_full_info()
        return int(getattr(info, "pss", 0) or info.rss)
    return 0


def _vmstat(path: Path) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in path.read_text("ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def _cgroup(path: Path) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        group = path.read_text("utf-8").strip().rsplit("::", 1)[1].lstrip("/")
        for line in (Path("/sys/fs/cgroup") / group / "memory.events").read_text("ascii").splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
