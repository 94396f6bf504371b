"""`place.json` in a run's folder: what was chosen for the run on its host, once, whichever connection serves it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from potato.training.contract.files import write_json

NAME = "place.json"


@dataclass(frozen=True)
class Place:
    """The worker's interpreter there (None: the one that answers), and what its environment has beside the host's own:
    the GPU."""

    python: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Put it into the run's folder, durably."""
        write_json(str(folder / NAME), {**asdict(self), "env": dict(self.env)})


def read_place(folder: Path) -> Place | None:
    """What was chosen; None where nothing was yet."""
    try:
        raw = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Place(raw["python"], raw["env"])
