"""`agent.log` in a run's folder: what ssh, and whatever runs at its other end, said."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from pathlib import Path

_log = logging.getLogger("potato.runs")

MAX_BYTES = 2_000_000


class AgentLog:
    """Appends lines, from any thread; a host that says too much is cut short. A folder that is gone stays gone."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def say(self, line: str) -> None:
        """Add one cleaned line, with the time."""
        self.add([f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())}  {line}"])

    def add(self, lines: Iterable[str]) -> None:
        """Add cleaned lines as they are."""
        data = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
        with self._lock:
            try:
                with self._path.open("ab") as file:
                    if file.tell() + len(data) <= MAX_BYTES:
                        file.write(data)
            except FileNotFoundError:
                return  # the run's files were removed
            except OSError as error:
                _log.warning("%s could not be written: %s", self._path, error)
