"""Having SLURM end a job: politely, then not, and again until it is gone."""

from typing import Optional

from potato.training.agent.slurm.answers import Listed
from potato.training.agent.slurm.scheduler import Scheduler
from potato.training.agent.slurm.states import Kind


class Ending:
    """What was asked for so far. `asked` and `hard` only ever become true."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._told = -1
        self.asked = False
        self.hard = False

    def order(self, job_id: Optional[int], last: Optional[Listed], start: int) -> None:
        """Order it. A running job's processes get SIGTERM first, once for each time that it was started; signalling
        one that waits would hang and fail."""
        if last is not None and last.state.kind in (Kind.ENDING, Kind.ENDED):
            return
        politely = not self.hard and last is not None and last.state.kind is Kind.RUNNING
        if politely and self._told == start:
            return
        said = self._scheduler.end(job_id, politely)
        if politely and said.code == 0:
            self._told = start
