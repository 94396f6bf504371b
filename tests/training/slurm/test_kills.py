"""`kill -9` of the server at every stage of a run on a cluster: the run goes on where it was, as one job, once.

A stage is held where it is, by a file that something waits for or by SLURM itself, while the server is killed.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from agent_scene import API
from lab import model_on_its_way, wait_for
from potato.store.training import predictions
from potato.training.runs.folder import RunFolder
from slurm_house import BRIEF, CLUSTER, HELD, LIMIT, SLOW, SlurmHouse
from slurm_house import house as open_house

FAULTS = int(os.environ.get("POTATO_FAULTS", "40"))


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmHouse]:
    """One house for all tests: each leaves it as it was."""
    with pytest.MonkeyPatch.context() as patch, open_house(tmp_path_factory.mktemp("house"), patch) as made:
        yield made


@dataclass
class Stage:
    """A stage of a run's life, and how it is held: `set_up` before the run is begun, `reached`, `go_on`. One that goes
    on `away` does so before the server is back."""

    set_up: Callable[[SlurmHouse], Any] = lambda house: None
    backend: str = CLUSTER
    params: dict[str, Any] = field(default_factory=dict)
    reached: Callable[[SlurmHouse, str], Any] = lambda house, run_id: True
    go_on: Callable[[SlurmHouse, str], Any] = lambda house, run_id: None
    away: bool = False


def by_task(name: str) -> Stage:
    """Held in the server's own work."""
    return Stage(
        set_up=lambda house: (house.hold / name).touch(),
        reached=lambda house, run_id: (house.hold / f"{name}.reached").exists(),
        go_on=lambda house, run_id: house.take(name),
    )


def by_sbatch(name: str, away: bool = False) -> Stage:
    """Held in `sbatch`."""
    return Stage(
        set_up=lambda house: house.put(name),
        reached=lambda house, run_id: (house.there / f"{name}.reached").exists(),
        go_on=lambda house, run_id: house.take(name),
        away=away,
    )


def release(house: SlurmHouse, run_id: str) -> None:
    """Let the run's job start."""
    for number, _ in house.jobs(run_id):
        house.cluster.run("scontrol", "release", str(number))


def job_ended(house: SlurmHouse, run_id: str) -> None:
    """Let the worker go on, and wait until SLURM calls its job completed."""
    house.put("go")
    wait_for(lambda: [state for _, state in house.jobs(run_id)] == ["COMPLETED"], LIMIT)


def on_its_way(house: SlurmHouse, run_id: str) -> bool:
    """Whether a part of the model is here."""
    return model_on_its_way(RunFolder.of(house.lab.project, run_id))


STAGES = {
    "building the bundle": by_task("training.build"),
    "submitting": by_sbatch("before"),
    "submitted, and not told": by_sbatch("after"),
    "submitted while the server is away": by_sbatch("after", away=True),
    "pending": Stage(
        backend=HELD,
        reached=lambda house, run_id: "PENDING (JobHeldUser)" in house.server.run(run_id)["step"],
        go_on=release,
    ),
    "starting": Stage(
        set_up=lambda house: house.take("import"),
        reached=lambda house, run_id: b'"starting"' in house.events(run_id),
        go_on=lambda house, run_id: house.put("import"),
    ),
    "running": Stage(
        params={"until": "go"},
        reached=lambda house, run_id: "the fake begins" in house.server.log(run_id),
        go_on=lambda house, run_id: house.put("go"),
    ),
    "running, and done while the server is away": Stage(
        params={"until": "go"},
        reached=lambda house, run_id: "the fake begins" in house.server.log(run_id),
        go_on=job_ended,
        away=True,
    ),
    "predicting": Stage(
        params={"predict_when": "go"},
        reached=lambda house, run_id: house.server.run(run_id)["step"] == "predicting 'sentiment'",
        go_on=lambda house, run_id: house.put("go"),
    ),
    "copying home": Stage(backend=SLOW, params={"weights": 1}, reached=on_its_way),
    "evaluating": by_task("training.evaluate"),
}


def begin(house: SlurmHouse, backend: str = CLUSTER, **params: Any) -> str:
    """Queue a run; `until` and `predict_when` are files on the login node."""
    files = {name: house.path_there(params[name]) for name in ("until", "predict_when") if name in params}
    return house.server.submit(backend=backend, **{**params, **files})


@pytest.mark.parametrize("name", STAGES)
def test_a_server_that_is_killed_goes_on_where_it_was(house: SlurmHouse, name: str) -> None:
    """remote 50"""
    stage = STAGES[name]
    stage.set_up(house)
    run_id = begin(house, stage.backend, **stage.params)
    try:
        wait_for(lambda: stage.reached(house, run_id), LIMIT)
        house.kill()
        if stage.away:
            stage.go_on(house, run_id)
        house.start()
        stage.go_on(house, run_id)
        run = house.server.finished(run_id, LIMIT)
        assert (run["state"], run["attempt"]) == ("success", 1), (run["error"], house.server.log(run_id))
        wait_for(house.is_clear, LIMIT)
        ran_once(house, run_id, run)
    finally:
        house.settle(run_id)


def ran_once(house: SlurmHouse, run_id: str, run: dict[str, Any]) -> None:
    """It was one job, its worker began once, and all that it wrote is here once."""
    assert [state for _, state in house.jobs(run_id)] == ["COMPLETED"]
    folder = RunFolder.of(house.lab.project, run_id)
    events = folder.events.read_bytes()
    assert events.count(b'"state":"starting"') == events.count(b'"event":"result"') == 1
    assert events.count(b"Submitted SLURM job") == 1
    assert house.lab.run(run_id).applied == len(events)
    assert list(folder.artifacts.rglob("model.txt"))
    with house.lab.database.read() as connection:
        assert predictions.count(connection, run_id) == run["writeback"]["read"] > 0


def test_a_server_that_is_killed_while_it_cancels_cancels(house: SlurmHouse) -> None:
    """remote 50"""
    run_id = begin(house, does="deaf", seconds=300)
    try:
        wait_for(lambda: "the fake begins" in house.server.log(run_id), LIMIT)
        house.server.http.post(f"{API}/runs/{run_id}/cancel")
        wait_for(lambda: "stopping" in house.server.log(run_id), LIMIT)
        house.kill()
        house.start()
        assert house.server.finished(run_id, LIMIT)["state"] == "cancelled"
        wait_for(house.is_clear, LIMIT)
        assert [state for _, state in house.jobs(run_id)] in (["CANCELLED"], ["FAILED"])
    finally:
        house.settle(run_id)


def test_a_server_that_stays_away_frees_the_allocation(house: SlurmHouse) -> None:
    """remote 50"""
    run_id = begin(house, BRIEF, does="deaf", seconds=300)
    try:
        wait_for(lambda: "the fake begins" in house.server.log(run_id), LIMIT)
        house.kill()
        wait_for(lambda: not house.cluster.jobs() and house.host.there.processes() == {}, LIMIT)
        house.start()
        assert house.server.finished(run_id, LIMIT)["state"] == "error"
        wait_for(house.is_clear, LIMIT)
    finally:
        house.settle(run_id)


@pytest.mark.parametrize("seed", range(max(1, FAULTS // 40)))
def test_a_server_that_is_killed_at_any_instants_loses_nothing(house: SlurmHouse, seed: int) -> None:
    """remote 50"""
    dice = random.Random(seed)
    run_id = begin(house, seconds=1, weights=1)
    try:
        for _ in range(2):
            time.sleep(dice.uniform(0, 5))  # any instant will do
            house.kill()
            house.start()
        run = house.server.finished(run_id, LIMIT)
        assert run["state"] == "success", (run["error"], house.server.log(run_id))
        wait_for(house.is_clear, LIMIT)
        ran_once(house, run_id, run)
    finally:
        house.settle(run_id)
