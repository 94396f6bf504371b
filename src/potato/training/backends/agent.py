"""The `agent` backend: a machine that nobody can reach. Its agent asks for work, and brings what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from potato.errors import PotatoError
from potato.project import Project
from potato.project.backends import AgentBackend as Settings
from potato.store import Database
from potato.store.clock import Clock, from_text, utc_now
from potato.store.training import agents
from potato.training.agents.claim import Claim, read_claim
from potato.training.agents.desk import AgentId, Assignment, Desk
from potato.training.agents.intake import Intake, begin_attempt
from potato.training.backends.base import CheckReport, Ended, Job, StoppedThere
from potato.training.backends.clock_skew import ClockSkew
from potato.training.backends.offer import Pack, offer

GIVE_UP_S = 300.0
"""How long an agent keeps a run going without a word from the server."""

STOPPED = "stopped"
"""The reason that an agent gives when its person stopped it."""


class NoWord(PotatoError):
    """The agent has said nothing for too long."""

    code = "no_word"
    status = 504

    def __init__(
        self, backend: str, seconds: float, what_to_do: str = "start the agent there, and the run again"
    ) -> None:
        super().__init__(
            f"No word from the agent on {backend} for {seconds:g} seconds",
            hint=f"its machine or network is gone, or it was killed; {what_to_do}",
        )


class AgentFailed(PotatoError):
    """The agent could not bring the job to an end."""

    code = "agent_failed"
    status = 502


class AgentStopped(StoppedThere):
    """The person at the agent stopped it."""

    code = "agent_stopped"

    def __init__(self, backend: str) -> None:
        super().__init__(f"the agent on {backend} was stopped", hint="start the agent again, and then the run")


class AgentExecution:
    """A job on its way to an agent, in its hands, and back."""

    lingers = False  # after the worker's result its predictions have still to come
    delivered = False

    def __init__(
        self, backend: str, settings: Settings, desk: Desk, job: Job, pack: Pack, max_predictions_mb: int
    ) -> None:
        self.host = ""
        self._backend = backend
        self._settings = settings
        self._desk = desk
        self._job = job
        self._limit_mb = max_predictions_mb
        self._packed = pack(job)
        self._since = desk.now()
        self._skew = ClockSkew(job.log)
        self._step = ""

    def take_up(self, claim: Claim) -> None:
        """Go on with what an earlier server process handed out; the agent's silence counts afresh."""
        self._assign(claim, heard=self._desk.now())

    def poll(self) -> Ended | None:
        assignment = self._desk.assignment(self._job.run_id)
        if assignment is None:
            self._find_agent()
            return None
        self._skew.look(self.host, assignment.clock_off_s)  # also of a job whose first report is its last
        if assignment.failure is not None:
            raise assignment.failure
        if assignment.result is not None:
            return self._ended(assignment.result)
        self._hand_out(assignment)
        self._listen(assignment)
        return None

    def memory_mb(self) -> float | None:
        return None

    def stop(self) -> None:
        assignment = self._desk.assignment(self._job.run_id)
        if assignment is not None:
            assignment.cancel = True

    def kill(self) -> None:
        """Whatever the agent still says of this run is answered: it is over. Then it ends the worker."""
        self._desk.release(self._job.run_id)

    def close(self) -> None:
        """Where the server is going down, the agent goes on, and asks until it is back."""
        self._desk.release(self._job.run_id)

    def _find_agent(self) -> None:
        agent = self._desk.waiting(self._backend)
        if agent is not None:
            self._begin(agent, self._job.attempt)
        elif self._desk.now() - self._since > self._settings.heartbeat_timeout_s:
            raise NoWord(self._backend, self._settings.heartbeat_timeout_s)

    def _begin(self, agent: AgentId, attempt: int) -> None:
        self._desk.end_attempt(self._job.run_id)
        claim = Claim(agent, attempt, begin_attempt(self._job.folder))
        claim.write(self._job.folder)
        self._assign(claim, heard=None)
        self._job.log(f"attempt {attempt} goes to the agent on {agent.host}, in {agent.workdir}")
        self._job.amend(host=agent.host, attempt=attempt)

    def _assign(self, claim: Claim, heard: float | None) -> None:
        self.host = claim.agent.host
        self._claim = claim
        intake = Intake(self._job.folder, claim.bases, self._limit_mb)
        assignment = Assignment(self._job.run_id, self._backend, claim.agent, claim.attempt, intake=intake, heard=heard)
        assignment.result = claim.result
        assignment.on_result = lambda result: replace(self._claim, result=result).write(self._job.folder)
        self._desk.assign(assignment)
        self._since = self._desk.now()

    def _hand_out(self, assignment: Assignment) -> None:
        if assignment.taken_by is not None:
            agent, assignment.taken_by = assignment.taken_by, None
            self._job.log(f"the agent on {agent.host} was started again")
            self._begin(agent, assignment.attempt + 1)
        elif assignment.offer is None and self._packed.done():
            self._desk.put_offer(self._job.run_id, self._offer(assignment.attempt, self._packed.result()))

    def _listen(self, assignment: Assignment) -> None:
        silent = self._desk.silent_for(self._job.run_id)
        if silent is None and assignment.offer is None:
            self._since = self._desk.now()
        if (silent if silent is not None else self._desk.now() - self._since) > self._settings.heartbeat_timeout_s:
            raise NoWord(self._backend, self._settings.heartbeat_timeout_s)
        if assignment.step != self._step:
            self._step = assignment.step
            if self._step:
                self._job.step(f"{self._step} on {self.host}")

    def _ended(self, result: Mapping[str, Any]) -> Ended:
        reason, code = result.get("reason"), result.get("exit_code")
        if reason == STOPPED:
            raise AgentStopped(self._backend)
        if result.get("artifact_uri"):
            self._job.amend(artifact_uri=result["artifact_uri"])
        if code is None and reason not in (None, "cancelled"):
            raise AgentFailed(f"The agent on {self._backend} gave up: {reason}")
        return Ended(code, bool(result.get("ran_out_of_memory")), tuple(result.get("warnings") or ()))

    def _offer(self, attempt: int, packed: Mapping[str, Any]) -> dict[str, Any]:
        limit = self._settings.heartbeat_timeout_s
        return offer(self._job, attempt, packed, heartbeat_timeout_s=limit, give_up_s=GIVE_UP_S)


class AgentBackend:
    """One entry of `model_training.backends` with `type: agent`."""

    def __init__(
        self, project: Project, name: str, settings: Settings, desk: Desk, pack: Pack, clock: Clock = utc_now
    ) -> None:
        self.name = name
        self._project = project
        self._settings = settings
        self._desk = desk
        self._pack = pack
        self._clock = clock

    def check(self, trainer: str | None) -> CheckReport:
        """The token's record; yes when its agent was heard within `heartbeat_timeout_s`."""
        database = Database(self._project.database_url)
        database.migrate()
        try:
            with database.read() as connection:
                record = agents.record(connection, self.name)
        finally:
            database.close()
        if record is None:
            command = f"potato training register {self.name} {self._project.file.name}"
            return CheckReport(self.name, False, ["no token issued yet", command], {"token": None})
        details = {"issued_at": record.issued_at, "last_seen": record.last_seen, "host": record.host}
        lines = [f"{self.name}: agent, token issued {record.issued_at}"]
        if record.last_seen is None:
            lines.append(
                "no agent has connected yet; start one: potato training agent --server URL --backend " + self.name
            )
            return CheckReport(self.name, False, lines, {"token": details})
        silent = (self._clock() - from_text(record.last_seen)).total_seconds()
        lines.append(f"last_seen {record.last_seen} from {record.host}, {silent:.0f} seconds ago")
        there = silent <= self._settings.heartbeat_timeout_s
        if not there:
            lines.append(
                "no agent asks for work now; start one: potato training agent --server URL --backend " + self.name
            )
        return CheckReport(self.name, there, lines, {"token": details})

    def start(self, job: Job) -> AgentExecution:
        return self._execution(job)

    def resume(self, job: Job) -> AgentExecution | None:
        claim = read_claim(job.folder)
        if claim is None:
            return None
        execution = self._execution(job)
        execution.take_up(claim)
        return execution

    def close(self) -> None:
        """Nothing is held."""

    def _execution(self, job: Job) -> AgentExecution:
        limit = self._project.config.model_training.max_predictions_mb
        return AgentExecution(self.name, self._settings, self._desk, job, self._pack, limit)
