"""`slurm.json` in an attempt's folder: what is known of its job, on disk before it is relied on."""

import os
from dataclasses import asdict, dataclass
from typing import Any, Dict, Optional

from potato.training.contract.files import write_json

NAME = "slurm.json"


@dataclass
class Note:
    """`token` is the job's name, this attempt's alone. `tries` counts the calls of `sbatch`; while `uncertain`,
    the last of them may have left a job whose number nobody knows."""

    token: str
    tries: int = 0
    uncertain: bool = False
    job_id: Optional[int] = None
    cluster: str = ""
    boot: str = ""
    """When the controller was started that was asked to take the job; empty where it did not say."""
    ran: bool = False
    """Whether the job is known to have run, by its state or by the nodes that it had."""

    def write(self, folder: str) -> None:
        """Put it on disk."""
        write_json(os.path.join(folder, NAME), asdict(self))


def recall(folder: str) -> Optional[Note]:
    """The note in a folder; None where nothing was ever submitted from there."""
    from potato.training.agent.folder import read_json

    raw: Dict[str, Any] = read_json(os.path.join(folder, NAME)) or {}
    return Note(**raw) if raw.get("token") else None


def new(run_id: str) -> Note:
    """A note for a job that is about to be submitted. The name begins with what a person looks for in `squeue`."""
    letters = "".join(char if char.isalnum() and char.isascii() else "-" for char in run_id)
    return Note(token="potato-%s-%s" % (letters[:60], os.urandom(6).hex()))
