"""Queued runs that wait for an agent: which of them can go, and which have waited too long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from potato.errors import PotatoError
from potato.project import Project
from potato.project.backends import AgentBackend
from potato.store import facts
from potato.store.training.runs import Run
from potato.training.agents.desk import Desk
from potato.training.runs.records import Records

FACT = "waited_for_agents"
"""Run id → seconds, of the queued runs that have a `queue_timeout_s`."""
SAVE_S = 10.0


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
    """Counts, for each run, only the time in which it could have been claimed: while the server was up, and no other
    run was going. Called from the supervisor's thread alone."""

    def __init__(
        self, project: Project, desk: Desk, records: Records, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = project.config.model_training.backends
        self._desk = desk
        self._records = records
        self._now = now
        self._waited: dict[str, float] | None = None
        self._since: float | None = None
        self._unsaved = 0.0

    def is_ready(self, run: Run) -> bool:
        """Whether the run can go: it needs no agent, or one asks for work on its backend."""
        needs_agent = isinstance(self._settings.get(run.backend), AgentBackend)
        return not needs_agent or self._desk.waiting(run.backend) is not None

    def too_long(self, queued: Iterable[Run]) -> Iterator[tuple[Run, NoAgent]]:
        """The runs whose `queue_timeout_s` has passed, with what to say of it. Called while nothing can go."""
        now = self._now()
        passed, self._since = now - (now if self._since is None else self._since), now
        limited = [(run, limit) for run in queued if (limit := self._limit(run)) is not None]
        waited = self._counted([run.run_id for run, _ in limited], passed)
        self._save(waited, passed, min((limit for _, limit in limited), default=0.0))
        for run, limit in limited:
            if waited[run.run_id] >= limit:
                yield run, NoAgent(run.backend, limit)

    def stop(self) -> None:
        """A run goes now, so nothing could be claimed."""
        self._since = None

    def _limit(self, run: Run) -> float | None:
        settings = self._settings.get(run.backend)
        return settings.queue_timeout_s if isinstance(settings, AgentBackend) else None

    def _counted(self, run_ids: Iterable[str], passed: float) -> dict[str, float]:
        before = self._waited
        if before is None:  # what an earlier server process has counted
            before = self._records.read(lambda connection: facts.get(connection, FACT)) or {}
        self._waited = {run_id: before.get(run_id, 0.0) + passed for run_id in run_ids}
        return self._waited

    def _save(self, waited: dict[str, float], passed: float, shortest: float) -> None:
        """Write the count down now and then, so that a server that is started again and again goes on with it."""
        self._unsaved += passed
        if waited and self._unsaved >= min(SAVE_S, shortest / 10):
            self._unsaved = 0.0
            self._records.put_fact(FACT, waited)
