"""What a process group uses of the memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil  # type: ignore[import-untyped]


def used_mb(pids: Iterable[int]) -> float:
    """What these processes use together in MB; memory that they share counts once (PSS, where the system tells)."""
    return sum(_bytes(pid) for pid in pids) / 1e6


def _bytes(pid: int) -> int:
    with contextlib.suppress(psutil.Error, OSError):  # it may have ended, or belong to another account
        info = psutil.Process(pid).memory_full_info()
        return int(getattr(info, "pss", 0) or info.rss)
    return 0
