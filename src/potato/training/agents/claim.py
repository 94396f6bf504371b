"""`agent.json` in a run's folder: who has the job, which attempt it is, and the end record once it came.

It is what a restarted server knows the job by.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from potato.training.agents.desk import AgentId
from potato.training.contract.files import write_json

NAME = "agent.json"


@dataclass(frozen=True)
class Claim:
    """One attempt in an agent's hands. `bases` says where it begins in each growing file."""

    agent: AgentId
    attempt: int
    bases: Mapping[str, int]
    result: Mapping[str, Any] | None = None

    def write(self, folder: Path) -> None:
        """Put it into the run's folder, durably."""
        agent = self.agent.as_json()
        body = {"agent": agent, "attempt": self.attempt, "bases": dict(self.bases), "result": self.result}
        write_json(str(folder / NAME), body)


def read_claim(folder: Path) -> Claim | None:
    """The claim in a run's folder; None where no agent has had the job."""
    try:
        raw = json.loads((folder / NAME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Claim(AgentId(**raw["agent"]), raw["attempt"], raw["bases"], raw["result"])
