"""A run's agent on a host, attended through whichever connection there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from potato import __version__
from potato.errors import PotatoError
from potato.training.agents.claim import Claim
from potato.training.agents.desk import AgentId, Assignment, Desk
from potato.training.agents.door import Door
from potato.training.agents.intake import Intake, begin_attempt
from potato.training.backends.agent import AgentFailed, NoWord
from potato.training.backends.base import Job
from potato.training.backends.clock_skew import ClockSkew
from potato.training.backends.notes import Notes
from potato.training.backends.place import Place
from potato.training.backends.way import Way
from potato.training.ssh.agent_log import AgentLog
from potato.training.ssh.errors import HostSilent, Lost
from potato.training.ssh.outage import Outage
from potato.training.ssh.session import Session
from potato.training.ssh.text import clean


class Attendance:
    """Has the run worked at, and takes what comes of it. `claim` is what an earlier server process handed out.

    `has_begun` and `result` may be read, and `cancel` called, from any thread.
    """

    def __init__(
        self,
        way: Way,
        job: Job,
        notes: Notes,
        agent_log: AgentLog,
        outage: Outage,
        max_predictions_mb: int,
        claim: Claim | None,
    ) -> None:
        self._way = way
        self._settings = way.settings
        self._host = way.settings.host
        self._job = job
        self._notes = notes
        self._agent_log = agent_log
        self._outage = outage
        self._max_predictions_mb = max_predictions_mb
        self._skew = ClockSkew(notes.say)
        self._desk = Desk()
        self._silent_s = 0.0
        if claim is not None:
            self._assign(claim)

    @property
    def has_begun(self) -> bool:
        """Whether an agent has, or had, the job."""
        return self._assignment() is not None

    @property
    def result(self) -> Mapping[str, Any] | None:
        """The end record, once it is here."""
        assignment = self._assignment()
        return assignment.result if assignment is not None else None

    def cancel(self) -> bool:
        """Have the agent told with its next report; false where no agent has the job yet, or any more."""
        assignment = self._assignment()
        if assignment is None or assignment.result is not None:
            return False
        assignment.cancel = True
        return True

    def serve(self, session: Session, place: Place, packed: Mapping[str, Any]) -> None:
        """Attend until the end record is here. Raises `Lost`, `NoWord`, `AgentFailed`, and what a piece of a file that
        is refused for good does."""
        folder, name = self._job.folder, self._way.name
        door = Door(self._desk, name, self._job.run_id, folder, Path(packed["path"]), lambda a: self._offer(a, packed))
        session.send(
            {
                "call": "work",
                "run_id": self._job.run_id,
                "backend": name,
                "python": place.python,
                "env": dict(place.env),
                "version": __version__,
                "host": self._host,
                "keep": self._settings.keep_remote,
            }
        )
        while self._takes(session, door):
            pass

    def _takes(self, session: Session, door: Door) -> bool:
        """Take one frame; whether more are to come."""
        limit = min(self._settings.heartbeat_timeout_s - self._silent_s, self._way.timing.silence)
        try:
            header, body = session.receive("the run was going", limit)
        except HostSilent as error:
            raise self._unheard(limit) from error
        self._silent_s = 0.0
        self._outage.heard()
        if "request" in header:
            self._answer(session, door, header["request"], body)
        elif "ok" in header:
            said = header.get("said")
            self._agent_log.add(clean(line, 2000) for line in (said if isinstance(said, list) else []))
            if self.result is None:
                raise self._unfinished(header)
        return "ok" not in header

    def _unheard(self, seconds: float) -> Exception:
        """What silence means: perhaps only that this connection is dead, unless the next is as silent."""
        self._silent_s += seconds
        limit = self._settings.heartbeat_timeout_s
        if self._silent_s < limit:
            return Lost(f"nothing came for {seconds:g} seconds")
        return NoWord(self._way.name, limit, "agent.log has its last output; start the run again")

    def _answer(self, session: Session, door: Door, request: Any, body: bytes) -> None:
        asked = request if isinstance(request, dict) else {}
        headers = asked.get("headers")
        named = {str(name): str(value) for name, value in headers.items()} if isinstance(headers, dict) else {}
        answer = door.answer(str(asked.get("method")), str(asked.get("path")), named, body)
        session.send({"status": answer.status, "headers": dict(answer.headers)}, answer.body)
        assignment = self._assignment()
        if assignment is not None:
            self._listen(assignment)

    def _listen(self, assignment: Assignment) -> None:
        if assignment.failure is not None:
            raise assignment.failure
        self._skew.look(self._host, assignment.clock_off_s)
        if assignment.step:
            self._notes.step(f"{clean(assignment.step, 200)} on {self._host}")

    def _unfinished(self, header: Mapping[str, Any]) -> PotatoError:
        """Why the agent left without an end record."""
        said = header.get("said")
        last = said[-1] if isinstance(said, list) and said else header.get("error") or "it gave no reason"
        return AgentFailed(
            f"The agent on {self._way.name} gave up: {clean(last)}", hint=clean(header.get("hint") or "")
        )

    def _offer(self, agent: AgentId, packed: Mapping[str, Any]) -> Mapping[str, Any]:
        """The job for an agent that claims. One that holds nothing of what was begun gets a new attempt."""
        assignment = self._assignment()
        number = self._job.attempt if assignment is None else assignment.attempt
        if assignment is not None and assignment.agent.session != agent.session and assignment.heard is not None:
            number += 1
            self._notes.say(f"nothing of attempt {assignment.attempt} is left on {self._host}; it begins anew")
            self._notes.amend(attempt=number)
        if assignment is None or number != assignment.attempt:
            claim = Claim(agent, number, begin_attempt(self._job.folder))
            claim.write(self._job.folder)
            self._assign(claim)
        return self._way.offer(self._job, number, packed)

    def _assign(self, claim: Claim) -> None:
        intake = Intake(self._job.folder, claim.bases, self._max_predictions_mb)
        assignment = Assignment(self._job.run_id, self._way.name, claim.agent, claim.attempt, intake)
        assignment.heard = self._desk.now()
        assignment.result = claim.result
        assignment.on_result = lambda result: replace(claim, result=result).write(self._job.folder)
        self._desk.assign(assignment)

    def _assignment(self) -> Assignment | None:
        return self._desk.assignment(self._job.run_id)
