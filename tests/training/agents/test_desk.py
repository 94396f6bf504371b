"""The desk: who is taken to wait for work, and who has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from potato.training.agents.desk import WAITS_S, AgentId, Assignment, Desk
from potato.training.agents.errors import BackendHeld
from potato.training.agents.intake import Intake

HERE = AgentId("here", "/work", "session-1")
HERE_AGAIN = AgentId("here", "/work", "session-2")
ELSEWHERE = AgentId("elsewhere", "/work", "session-3")


class Clock:
    """Seconds that pass when told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def desk(clock: Clock) -> Desk:
    return Desk(now=clock)


def given(desk: Desk, folder: Path, agent: AgentId = HERE, ready: bool = True) -> Assignment:
    """A run in the agent's hands; `ready` where it can be told already."""
    assignment = Assignment("run", "lab", agent, 1, Intake(folder, {}, 1))
    desk.assign(assignment)
    if ready:
        desk.put_offer("run", {"run_id": "run"})
    return assignment


def test_an_agent_waits_from_its_claim_on_and_a_while_after(desk: Desk, clock: Clock) -> None:
    assert desk.waiting("lab") is None
    desk.ask("lab", HERE, 120, began=1.0)
    assert desk.waiting("lab") == HERE
    clock.now += WAITS_S + 1
    assert desk.waiting("lab") is None


def test_a_claim_that_was_hung_up_does_not_wait(desk: Desk) -> None:
    desk.ask("lab", HERE, 120, began=1.0)
    desk.hung_up("lab", 1.0)
    assert desk.waiting("lab") is None


def test_a_claim_that_was_hung_up_does_not_speak_for_the_one_after_it(desk: Desk) -> None:
    """It was cut on the way, and its agent has asked again."""
    desk.ask("lab", HERE, 120, began=1.0)
    desk.ask("lab", HERE, 120, began=2.0)
    desk.ask("lab", HERE, 120, began=1.0)  # the older one looks once more before it notices
    desk.hung_up("lab", 1.0)
    assert desk.waiting("lab") == HERE


def test_an_agent_that_left_holds_nothing(desk: Desk) -> None:
    desk.ask("lab", HERE, 120, began=1.0)
    with pytest.raises(BackendHeld):
        desk.ask("lab", ELSEWHERE, 120, began=2.0)
    assert desk.leave("lab", HERE) is None
    desk.ask("lab", HERE, 120, began=1.0)  # its old claim, which nobody reads the answer of
    assert desk.waiting("lab") is None
    desk.ask("lab", ELSEWHERE, 120, began=3.0)
    assert desk.waiting("lab") == ELSEWHERE


def test_an_agent_that_left_and_came_back_waits(desk: Desk) -> None:
    desk.ask("lab", HERE, 120, began=1.0)
    desk.leave("lab", HERE)
    desk.ask("lab", HERE_AGAIN, 120, began=2.0)
    assert desk.waiting("lab") == HERE_AGAIN


def test_an_agent_that_leaves_hears_of_the_job_that_it_was_given(desk: Desk, tmp_path: Path) -> None:
    given(desk, tmp_path)
    assert desk.leave("lab", HERE_AGAIN) is None
    assert desk.leave("lab", HERE) == {"run_id": "run"}
    assert desk.assignment("run") is not None, "its end is still to be told"


def test_a_job_that_could_not_be_told_yet_waits_for_the_next_agent(desk: Desk, tmp_path: Path) -> None:
    given(desk, tmp_path, ready=False)
    assert desk.leave("lab", HERE) is None
    assert desk.assignment("run") is None
    desk.put_offer("run", {"run_id": "run"})  # it was being packed
    assert desk.silent_for("run") is None


def test_a_run_that_is_released_takes_nothing_more(desk: Desk, tmp_path: Path) -> None:
    assignment = given(desk, tmp_path)
    desk.release("run")
    with pytest.raises(Exception, match="ask again in a moment"):
        assignment.intake.append("events.jsonl", 0, b"late")
