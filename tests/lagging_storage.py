"""Storage that a compute node writes and a login node reads late: a copier stands in for it.

What the login node sees is old by seconds, by another lag for each file, and not always whole: lines are torn, bytes
that have not come are zeros, and now and then a file looks as it did before.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class LaggingStorage:
    """`write` is what the node does, `show` what the login node sees of it in `folder`, by the same clock. `lag` is
    that of a file by its name."""

    folder: Path
    lag: Callable[[str], float]
    chance: random.Random = field(default_factory=lambda: random.Random(7))
    _states: dict[str, list[tuple[float, bytes]]] = field(default_factory=dict)
    """Each file's contents since ever, with their times."""

    def write(self, now: float, path: str, data: bytes) -> None:
        """The file at `path` holds `data` from now on."""
        states = self._states.setdefault(path, [])
        if not states or states[-1][1] != data:
            states.append((now, data))

    def append(self, now: float, path: str, data: bytes) -> None:
        """The file at `path` has grown by `data`."""
        self.write(now, path, self._states.get(path, [(0.0, b"")])[-1][1] + data)

    def show(self, now: float) -> None:
        """Lay everything as it is seen now."""
        for path, states in self._states.items():
            seen = [data for at, data in states if at + self.lag(path) <= now]
            if seen:
                target = self.folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                last = len(seen) == len(states)
                target.write_bytes(seen[-1] if last else self._torn(seen, states[len(seen)][1]))

    def _torn(self, seen: list[bytes], coming: bytes) -> bytes:
        """What a file that goes on to be written may look like meanwhile."""
        data = seen[-1]
        kind = self.chance.choice(("whole", "torn", "zeros", "before"))
        if kind == "torn" and coming.startswith(data):
            return coming[: len(data) + self.chance.randrange(len(coming) - len(data))]
        if kind == "zeros" and coming.startswith(data):
            return data + b"\0" * (len(coming) - len(data))
        return seen[max(0, len(seen) - 3)] if kind == "before" else data
