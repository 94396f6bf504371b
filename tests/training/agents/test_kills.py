"""`kill -9` of everything that takes part in a run, at every stage of it: the outcome, and that nothing is left.

A stage is held where it is, by the way between agent and server or by a file that something waits for, while whoever
is to die is killed.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_scene import BACKEND
from hostile_proxy import Seeded
from house import BRIEF, LIMIT, SILENCE_S, House
from keepers import keepers_of, left_of
from lab import wait_for
from potato.store.training import predictions
from potato.training.runs.folder import RunFolder


@dataclass
class Stage:
    """A stage of a run's life, and how it is held: `set_up` before the run is begun, `reached`, `go_on`."""

    set_up: Callable[[House], Any] = lambda house: None
    params: dict[str, str] = field(default_factory=dict)
    reached: Callable[[House, str, Any], Any] = lambda house, run_id, hold: hold.reached.is_set()
    go_on: Callable[[House, Any], Any] = lambda house, hold: hold.let_go.set()


def by_way(route: str, spot: str, **wanted: Any) -> Stage:
    """Held on the way between agent and server."""
    return Stage(lambda house: house.proxy.hold(route, spot, **wanted))


def by_task(name: str) -> Stage:
    """Held in the server's own work."""
    return Stage(
        set_up=lambda house: house.file(name).touch(),
        reached=lambda house, run_id, _: house.file(f"{name}.reached").exists(),
        go_on=lambda house, _: [file.unlink(missing_ok=True) for file in house.hold.glob(f"{name}*")],
    )


def said(house: House, run_id: str, words: bytes) -> bool:
    """Whether the worker has said so."""
    events = house.attempt(run_id) / "events.jsonl"
    return events.exists() and words in events.read_bytes()


STAGES = {
    "building": by_task("training.build"),
    "claimed": by_way("claim", "answer", wanted=lambda answer: b'"run_id"' in answer.body),
    "downloading": by_way("bundle", "half answer"),
    "starting": Stage(
        set_up=lambda house: house.file("import").unlink(),
        reached=lambda house, run_id, _: said(house, run_id, b'"starting"'),
        go_on=lambda house, _: house.file("import").touch(),
    ),
    "fitting": Stage(
        params={"until": "go"},
        reached=lambda house, run_id, _: "the fake begins" in house.server.log(run_id),
        go_on=lambda house, _: house.file("go").touch(),
    ),
    "predicting": Stage(
        params={"predict_when": "go"},
        reached=lambda house, run_id, _: house.server.run(run_id)["step"] == "predicting 'sentiment'",
        go_on=lambda house, _: house.file("go").touch(),
    ),
    "uploading": by_way("predictions.jsonl", "half request"),
    "delivered": by_way("result", "answer"),
    "evaluating": by_task("training.evaluate"),
}


@dataclass(frozen=True)
class Case:
    """Who dies at which stage, and what comes of it. Agent and server are started again, unless it stays `away`."""

    stage: str
    victims: str
    state: str = "success"
    message: str = ""
    attempt: int = 1
    away: bool = False

    def __str__(self) -> str:
        return f"{self.stage}-{self.victims.replace(' ', '+')}{'-away' if self.away else ''}"


CHANCES = max(1, int(os.environ.get("POTATO_FAULTS", "40")) // 20)

SIGNAL_9 = "The worker was killed by signal 9 (SIGKILL)"
NO_CODE = "The worker ended without a result, and left no exit code"
NO_WORD = f"No word from the agent on {BRIEF} for {SILENCE_S[BRIEF]} seconds"

CASES = [
    # A server that comes back goes on where it was; the agent asks until it does.
    *(Case(stage, "server") for stage in STAGES),
    # So does an agent. Where it did not yet know that it had the job, it gets a new attempt.
    Case("building", "agent"),
    Case("claimed", "agent", attempt=2),
    *(Case(stage, "agent") for stage in list(STAGES)[2:-1]),
    Case("fitting", "agent server"),
    Case("delivered", "agent server"),
    # Its keeper is followed by another, and the worker does not notice.
    *(Case(stage, "keeper") for stage in ("starting", "fitting", "predicting")),
    Case("fitting", "agent keeper"),
    # A worker is told of in seconds; one that nobody saw die left no code.
    *(Case(stage, "worker", "error", SIGNAL_9) for stage in ("starting", "fitting", "predicting")),
    Case("fitting", "keeper worker", "error", NO_CODE),
    Case("fitting", "agent keeper worker", "error", NO_CODE),
    Case("fitting", "agent keeper worker server", "error", "the server stopped while the run was going"),
    # An agent that stays away is missed, and what it left ends by itself.
    *(Case(stage, "agent", "error", NO_WORD, away=True) for stage in ("claimed", "downloading", "fitting")),
    Case("fitting", "agent keeper", "error", NO_WORD, away=True),
    Case("uploading", "agent", "error", NO_WORD, away=True),
    Case("delivered", "agent", away=True),
]


# Left out is what makes no sense: a keeper or a worker before it was started and after it has ended, and an agent while
# the server evaluates, which has nothing to do with it any more.


@pytest.mark.parametrize("case", CASES, ids=str)
def test_killed(house: House, case: Case) -> None:
    """remote 42 (claims again at once), 43 (no final record), 50 (at each stage)"""
    backend, stage = (BRIEF if case.away else BACKEND), STAGES[case.stage]
    house.start(backend)
    hold = stage.set_up(house)
    params = {name: str(house.file(value)) for name, value in stage.params.items()}
    run_id = house.server.submit(backend=backend, **params)
    try:
        wait_for(lambda: stage.reached(house, run_id, hold), LIMIT)
        for victim in case.victims.split():
            house.kill(victim, backend, run_id)
        killed = time.monotonic()
        if not case.away:
            house.start(backend)
        if case.state == "success":
            stage.go_on(house, hold)
        run = house.server.finished(run_id, LIMIT)
        passed = time.monotonic() - killed
        assert (run["state"], (run["error"] or {}).get("message", "")) == (case.state, case.message), house_says(
            house, backend, run_id
        )
        if case.message == NO_WORD:
            assert SILENCE_S[BRIEF] / 2 < passed < SILENCE_S[BRIEF] + 60
        assert run["attempt"] == case.attempt, house.server.log(run_id)
        wait_for(lambda: not left_of(run_id), LIMIT)
    finally:
        stage.go_on(house, hold)
        house.settle(backend, run_id)
        house.file("go").unlink(missing_ok=True)
    nothing_twice(house, run_id, run)
    all_told(house, backend, run_id)


@pytest.mark.timeout(120 + 60 * CHANCES)
def test_killed_at_random_instants(house: House) -> None:
    """On a way on which much goes wrong too; only the worker is spared."""
    dice = random.Random(int(os.environ.get("POTATO_SEED", "1")))
    for chance in range(CHANCES):
        house.start(BACKEND)
        house.proxy.faults = Seeded(chance, 0.15)
        run_id = house.server.submit(seconds=dice.choice([0.0, 0.5, 1.5]), lines=300)
        try:
            for _ in range(dice.randint(1, 3)):
                time.sleep(dice.random() * 2)  # any instant will do
                for victim in dice.sample(["agent", "server", "keeper"], dice.choice([1, 1, 2])):
                    if victim != "keeper" or keepers_of(run_id):
                        house.kill(victim, BACKEND, run_id)
                house.start(BACKEND)
            run = house.server.finished(run_id, LIMIT)
            assert run["state"] == "success", (chance, run["error"], house_says(house, BACKEND, run_id))
        finally:
            house.settle(BACKEND, run_id)
        all_told(house, BACKEND, run_id)
        nothing_twice(house, run_id, run)


def nothing_twice(house: House, run_id: str, run: dict[str, Any]) -> None:
    """The worker ran once, what it wrote is here once, and the store has all of it."""
    folder = RunFolder.of(house.lab.project, run_id)
    assert house.lab.run(run_id).applied == (folder.events.stat().st_size if folder.events.exists() else 0)
    starts = folder.events.read_bytes().count(b'"state":"starting"') if folder.events.exists() else 0
    assert starts <= 1
    if run["state"] == "success":
        there = house.attempt(run_id, run["attempt"])
        for name in ("events.jsonl", "predictions.jsonl"):
            assert (folder.path / name).read_bytes() == (there / name).read_bytes()
        with house.lab.database.read() as connection:
            assert predictions.count(connection, run_id) == run["writeback"]["read"] > 0


def all_told(house: House, backend: str, run_id: str) -> None:
    """The agent, started again where it was killed, has nothing left to do, and nothing of the job but its model."""
    house.start(backend)
    wait_for(lambda: not (house.attempt(run_id).parent / "job.json").exists(), LIMIT)
    wait_for(lambda: not (house.attempt(run_id).parent / "bundle").exists(), LIMIT)
    assert left_of(run_id) == []


def house_says(house: House, backend: str, run_id: str) -> str:
    return house.server.log(run_id) + house.agents[backend].said()
