"""Queued runs that wait for an agent: which of them can go, and which have waited too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from potato.errors import PotatoError
from potato.project import Project
from potato.project.backends import AgentBackend
from potato.store.runs import Run
from potato.training.agents.desk import Desk


class NoAgent(PotatoError):
    """No agent asked for the run within `queue_timeout_s`."""

    code = "no_agent"
    status = 504

    def __init__(self, backend: str, seconds: float) -> None:
        super().__init__(
            f"No agent asked for work on {backend} for {seconds:g} seconds",
            hint=f"start one: potato training agent --server URL --backend {backend}; Check shows the token's record",
        )


class WaitForAgents:
    """Counts, for each run, only the time in which it could have been claimed: while no other run was going.

    Called from the supervisor's thread alone. A restart of the server begins the count again.
    """

    def __init__(self, project: Project, desk: Desk, now: Callable[[], float] = time.monotonic) -> None:
        self._settings = project.config.model_training.backends
        self._desk = desk
        self._now = now
        self._waited: dict[str, float] = {}
        self._since: float | None = None

    def is_ready(self, run: Run) -> bool:
        """Whether the run can go: it needs no agent, or one asks for work on its backend."""
        needs_agent = isinstance(self._settings.get(run.backend), AgentBackend)
        return not needs_agent or self._desk.waiting(run.backend) is not None

    def too_long(self, queued: Iterable[Run]) -> Iterator[tuple[Run, NoAgent]]:
        """The runs whose `queue_timeout_s` has passed, with what to say of it. Called while nothing can go."""
        now = self._now()
        passed, self._since = now - (self._since or now), now
        waiting = list(queued)
        self._waited = waited = {run.run_id: self._waited.get(run.run_id, 0.0) + passed for run in waiting}
        for run in waiting:
            settings = self._settings.get(run.backend)
            limit = settings.queue_timeout_s if isinstance(settings, AgentBackend) else None
            if limit is not None and waited[run.run_id] >= limit:
                yield run, NoAgent(run.backend, limit)

    def stop(self) -> None:
        """A run goes now, so nothing could be claimed."""
        self._since = None
