"""The desk where agents ask for work: who waits, who has the job in hand, and when each was heard last.

It holds what is true of this server process alone. What must outlive it, the run's claim and attempt, stands in the
run's row; `AgentBackend` puts it there and brings it back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from potato.errors import PotatoError
from potato.training.agents.errors import BackendHeld, NotYourRun, OldAttempt, RunIsOver, ServerNotReady
from potato.training.agents.intake import Intake

WAITS_S = 40.0
"""An agent that asked within this time is taken to be waiting still: a long poll, the pause after it, the way."""

Monotonic = Callable[[], float]


@dataclass(frozen=True)
class AgentId:
    """An agent as it introduces itself. `session` is new for each start of it."""

    host: str
    workdir: str
    session: str
    version: str = ""

    def same_place(self, other: AgentId) -> bool:
        """Whether both work in one folder of one machine."""
        return (self.host, self.workdir) == (other.host, other.workdir)

    def as_json(self) -> dict[str, str]:
        """For the run's row."""
        return {"host": self.host, "workdir": self.workdir, "session": self.session}


@dataclass
class Assignment:
    """The one job that is in an agent's hands, or about to be."""

    run_id: str
    backend: str
    agent: AgentId
    attempt: int
    intake: Intake
    offer: Mapping[str, Any] | None = None
    """The job as the claim answers it; None while the bundle is being made."""
    heard: float | None = None
    """When the agent was heard last; None until its first word."""
    cancel: bool = False
    result: Mapping[str, Any] | None = None
    failure: PotatoError | None = None
    on_result: Callable[[Mapping[str, Any]], None] = lambda result: None
    """Makes an end record durable before it is acknowledged."""
    taken_by: AgentId | None = None
    """Another start of the same agent, which holds nothing of this job: it needs a new attempt."""
    step: str = ""
    clock_off_s: float = 0.0


@dataclass
class _Seen:
    agent: AgentId
    at: float
    asked: float | None = None
    """When the claim that waits began; None while none does."""
    left: bool = False
    """Whether it has taken leave: it is not waited for, and holds the backend no longer."""


@dataclass
class Desk:
    """Every method is quick, and may be called from any thread."""

    now: Monotonic = time.monotonic
    on_change: Callable[[str], None] = lambda backend: None
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _assignments: dict[str, Assignment] = field(default_factory=dict)
    _noted: dict[str, float] = field(default_factory=dict)

    # What agents say

    def ask(self, backend: str, agent: AgentId, heartbeat_timeout_s: float, began: float) -> None:
        """An agent waits for work, by a claim that began at `began`. Raises `BackendHeld` where another was heard
        within `heartbeat_timeout_s`."""
        with self._lock:
            seen = self._seen.get(backend)
            if seen is not None and not seen.left and not seen.agent.same_place(agent):
                silent = self.now() - seen.at
                if silent < heartbeat_timeout_s:
                    raise BackendHeld(backend, seen.agent.host, seen.agent.workdir, silent)
            if seen is not None and seen.agent == agent:
                if seen.left:
                    return  # a claim of before it left, which nobody waits for any more
                began = max(began, seen.asked or began)
            self._seen[backend] = _Seen(agent, self.now(), began)

    def hung_up(self, backend: str, began: float) -> None:
        """Nobody waits for the answer to that claim any more; a newer one is another matter."""
        with self._lock:
            seen = self._seen.get(backend)
            if seen is not None and seen.asked == began:
                seen.asked = None

    def leave(self, backend: str, agent: AgentId) -> Mapping[str, Any] | None:
        """An agent takes leave: the job that it was given meanwhile, and may not know of. One that was not yet given
        to it waits for the next agent."""
        with self._lock:
            seen = self._seen.get(backend)
            if seen is not None and seen.agent.same_place(agent):
                self._seen[backend] = _Seen(agent, self.now(), left=True)
            assignment = self._assignment_of(backend, agent)
            if assignment is None or assignment.agent.session != agent.session:
                return None
            if assignment.offer is None:
                del self._assignments[assignment.run_id]
            return assignment.offer

    def offer(self, backend: str, agent: AgentId) -> Mapping[str, Any] | None:
        """The job that lies ready for this agent.

        The same start of it gets the same attempt again. Another start in the same folder asks only where it holds
        nothing any more, and gets a new attempt, as soon as that is made.
        """
        with self._lock:
            assignment = self._assignment_of(backend, agent)
            return self._offer(assignment, agent) if assignment is not None else None

    def _assignment_of(self, backend: str, agent: AgentId) -> Assignment | None:
        for assignment in self._assignments.values():
            if assignment.backend == backend and assignment.agent.same_place(agent) and assignment.result is None:
                return assignment
        return None

    def _offer(self, assignment: Assignment, agent: AgentId) -> Mapping[str, Any] | None:
        if assignment.agent.session == agent.session:
            if assignment.offer is not None:
                self._hear(assignment)
            return assignment.offer
        if assignment.heard is None:
            assignment.agent = agent  # nobody has begun it
            return None
        assignment.taken_by = agent
        return None

    def hear(self, backend: str, run_id: str, attempt: int, is_going: Callable[[], bool]) -> Assignment:
        """A word about a run: the assignment that it belongs to. `is_going` asks the store.

        Raises `NotYourRun`, `OldAttempt`, `RunIsOver`, or `ServerNotReady` while the server has yet to take it up.
        """
        with self._lock:
            assignment = self._assignments.get(run_id)
            if assignment is None or assignment.failure is not None:
                if assignment is None and is_going():
                    raise ServerNotReady
                raise RunIsOver(run_id)
            if assignment.backend != backend:
                raise NotYourRun
            if assignment.attempt != attempt:
                raise OldAttempt(run_id, attempt, assignment.attempt)
            self._hear(assignment)
            return assignment

    # What the supervisor does

    def waiting(self, backend: str) -> AgentId | None:
        """The agent that waits for work on this backend just now."""
        with self._lock:
            seen = self._seen.get(backend)
            if seen is None or seen.asked is None or self.now() - seen.at > WAITS_S:
                return None
            return seen.agent

    def assign(self, assignment: Assignment) -> None:
        """Put a run into an agent's hands."""
        with self._lock:
            self._assignments[assignment.run_id] = assignment
            seen = self._seen.get(assignment.backend)
            if seen is not None:
                seen.asked = None

    def assignment(self, run_id: str) -> Assignment | None:
        """The run's assignment."""
        with self._lock:
            return self._assignments.get(run_id)

    def put_offer(self, run_id: str, offer: Mapping[str, Any]) -> None:
        """The job is ready to be handed out."""
        with self._lock:
            assignment = self._assignments.get(run_id)
            if assignment is None:
                return  # its agent took leave at this very instant
            assignment.offer = offer
        self.on_change(assignment.backend)

    def silent_for(self, run_id: str) -> float | None:
        """Seconds since the agent was heard of this run; None before its first word."""
        with self._lock:
            assignment = self._assignments.get(run_id)
            return None if assignment is None or assignment.heard is None else self.now() - assignment.heard

    def end_attempt(self, run_id: str) -> None:
        """A newer attempt is about to begin: requests of the present one that are under way write nothing any more."""
        assignment = self.assignment(run_id)
        if assignment is not None:
            assignment.intake.close(OldAttempt(run_id, assignment.attempt, assignment.attempt + 1))

    def release(self, run_id: str) -> None:
        """The run is over here: whatever still comes for it is told so."""
        with self._lock:
            assignment = self._assignments.pop(run_id, None)
        if assignment is not None:
            assignment.intake.close(ServerNotReady())  # what is under way asks again, and hears how things stand then

    def due(self, backend: str, every_s: float) -> bool:
        """Whether a backend's last word is to be written down again; true once each `every_s`."""
        with self._lock:
            last = self._noted.get(backend)
            if last is not None and self.now() - last < every_s:
                return False
            self._noted[backend] = self.now()
            return True

    def _hear(self, assignment: Assignment) -> None:
        assignment.heard = self.now()
        self._seen[assignment.backend] = _Seen(assignment.agent, assignment.heard)
