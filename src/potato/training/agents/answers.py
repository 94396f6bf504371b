"""What an agent is answered, whichever way it asked: over HTTP, or through the channel of one run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from potato.training.agents import bodies
from potato.training.agents.claim import read_claim
from potato.training.agents.desk import AgentId, Assignment
from potato.training.agents.errors import PredictionsTooLarge, ProtocolMismatch
from potato.training.agents.intake import Declared

PROTOCOL = 1
PREFIX = "/training/agent/v1"


def introduced(claim: bodies.ClaimRequest) -> AgentId:
    """Who claims. Raises `ProtocolMismatch`."""
    if claim.protocol != PROTOCOL:
        raise ProtocolMismatch(claim.protocol, PROTOCOL)
    return AgentId(claim.agent.host, claim.agent.workdir, claim.agent.session)


def job(offer: Mapping[str, Any] | None, poll_after_s: float) -> dict[str, Any]:
    """The answer to a claim: a job, or None."""
    return {"protocol": PROTOCOL, "job": offer and dict(offer), "poll_after_s": poll_after_s}


def piece(assignment: Assignment, name: str, offset: int, data: bytes) -> dict[str, Any]:
    """Take a piece of a file. Raises what `Intake.append` does; predictions that are too large end the run."""
    try:
        return {"length": assignment.intake.append(name, offset, data)}
    except PredictionsTooLarge as error:
        assignment.failure = error  # the run ends with it; the agent is told that it is over
        raise


def report(assignment: Assignment, body: bodies.Report) -> dict[str, Any]:
    """Take a heartbeat; the answer says whether to cancel."""
    assignment.step = body.step
    if body.clock is not None:
        assignment.clock_off_s = body.clock - time.time()
    return {"cancel": assignment.cancel, "held": assignment.intake.held()}


def result(assignment: Assignment, body: bodies.Result) -> dict[str, Any]:
    """Take the end record, once every declared file is here whole. Raises what `Intake.finish` does. Safe to repeat,
    at the same time too: the first is kept."""
    record = body.model_dump(include={"exit_code", "reason", "ran_out_of_memory", "artifact_uri", "warnings"})
    declared = {name: Declared(file.bytes, file.sha256) for name, file in body.files.items()}
    assignment.intake.finish(declared, then=lambda: _keep(assignment, record))
    return taken()


def _keep(assignment: Assignment, record: dict[str, Any]) -> None:
    if assignment.result is None:
        assignment.on_result(record)  # on disk before it is acknowledged
        assignment.result = record


def taken() -> dict[str, Any]:
    """The end record is here for good."""
    return {"taken": True}


def was_taken(folder: Path, attempt: int) -> bool:
    """Whether this attempt's end record is in the run's folder already, from a request whose answer was lost."""
    found = read_claim(folder)
    return found is not None and found.attempt == attempt and found.result is not None
