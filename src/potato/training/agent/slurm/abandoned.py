"""A job that nobody looks after any more."""

from typing import Mapping

from potato.training.agent.slurm import code, commands, note
from potato.training.agent.slurm.commands import NoProgram
from potato.training.agent.slurm.scheduler import Scheduler
from potato.training.agent.slurm.settings import SlurmTiming


def cancel(folder: str, env: Mapping[str, str]) -> None:
    """Have SLURM end the job of the attempt in `folder`, if there ever was one."""
    found = note.recall(folder)
    if found is None or not found.tries:
        return
    clean = commands.environment(env, code.root())
    scheduler = Scheduler(found.token, clean, SlurmTiming(), lambda: None, found.cluster)
    try:
        scheduler.end(found.job_id, politely=False)
    except NoProgram:
        return  # then there is nobody to ask
