"""The server is killed: each run is as it was, goes on, or ends with its reason; nothing runs twice or stays behind."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from lab import Lab, Server, wait_for
from potato.store import tables
from potato.store.training import predictions
from potato.store.training.runs import GOING, Run, State
from potato.training.runs.folder import RunFolder
from potato.training.worker import launch

WRITEBACK = {"writeback": {"schemas": ["sentiment"], "include_unlabeled": True}}

FAULTS = int(os.environ.get("POTATO_FAULTS", "40" if os.environ.get("CI") == "true" else "8"))


@pytest.fixture
def servers() -> Iterator[Callable[[Lab], Server]]:
    started: list[Server] = []

    def start(lab: Lab) -> Server:
        started.append(Server(lab))
        return started[-1]

    yield start
    for server in started:
        server.kill()


def in_state(lab: Lab, run_id: str, *states: State) -> Run:
    def look() -> Run | None:
        run = lab.run(run_id)
        return run if run.state in states or run.is_finished else None

    run: Run = wait_for(look, 120)
    return run


def ended(lab: Lab, run_id: str, limit: float = 120) -> Run:
    def look() -> Run | None:
        run = lab.run(run_id)
        return run if run.is_finished else None

    run: Run = wait_for(look, limit)
    return run


def worker_starts(lab: Lab, run_id: str) -> int:
    """How often a worker began, by its own word."""
    return RunFolder.of(lab.project, run_id).events.read_bytes().count(b'"state":"starting"')


def assert_whole(lab: Lab, run: Run) -> None:
    """What must hold of every run that has ended, however often the server died."""
    assert launch.find_marked(run.run_id) == []
    folder = RunFolder.of(lab.project, run.run_id)
    if folder.events.exists():
        assert worker_starts(lab, run.run_id) == 1
        assert run.applied == folder.events.stat().st_size
    with lab.database.read() as connection:
        stored = predictions.count(connection, run.run_id)
    if run.state is State.SUCCESS:
        assert stored == run.writeback["read"] > 0  # type: ignore[index]
        assert run.scores["sentiment"]["test"]["n"] == run.counts["test"]
    else:
        assert run.error == {
            "code": "interrupted",
            "message": "the server stopped while the run was going",
            "hint": run.error["hint"],  # type: ignore[index]
        }


def test_a_queued_run_is_queued_again(make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]) -> None:
    lab = make_lab()
    first, second = lab.submit(), lab.submit()
    assert lab.run(first).state is lab.run(second).state is State.QUEUED
    servers(lab)
    assert ended(lab, second).state is State.SUCCESS
    assert lab.run(first).finished_at < lab.run(second).started_at  # type: ignore[operator]


def test_killed_while_building_the_bundle(make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]) -> None:
    lab = make_lab(4000, 3000)
    run_id = lab.submit()
    server = servers(lab)
    assert in_state(lab, run_id, State.BUILDING).state is State.BUILDING
    server.kill()
    assert lab.run(run_id).state is State.BUILDING
    servers(lab)
    run = ended(lab, run_id)
    assert run.state is State.SUCCESS
    assert_whole(lab, run)


def test_a_living_worker_is_followed_again(make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]) -> None:
    """remote 50 on `local`."""
    lab = make_lab(model_training=WRITEBACK)
    run_id = lab.submit(seconds=3.0)
    server = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    server.kill()
    assert launch.find_marked(run_id)
    servers(lab)
    run = ended(lab, run_id)
    assert run.state is State.SUCCESS, run.error
    assert "following the run" in RunFolder.of(lab.project, run_id).log.read_text("utf-8")
    assert_whole(lab, run)


def test_a_finish_while_the_server_was_down_is_collected(
    make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]
) -> None:
    lab = make_lab(model_training=WRITEBACK)
    run_id = lab.submit(seconds=1.0)
    server = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    server.kill()
    wait_for(lambda: RunFolder.of(lab.project, run_id).exit_code.exists() and not launch.find_marked(run_id))
    servers(lab)
    run = ended(lab, run_id)
    assert run.state is State.SUCCESS
    assert_whole(lab, run)


def test_a_failure_while_the_server_was_down_keeps_its_reason(
    make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]
) -> None:
    lab = make_lab()
    run_id = lab.submit(seconds=1.0, does="fail")
    server = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    server.kill()
    wait_for(lambda: RunFolder.of(lab.project, run_id).exit_code.exists())
    servers(lab)
    run = ended(lab, run_id)
    assert run.state is State.ERROR
    assert run.error["message"] == "the fake was told to fail"  # type: ignore[index]


def test_a_worker_that_died_meanwhile_ends_the_run_with_the_reason(
    make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]
) -> None:
    lab = make_lab()
    run_id = lab.submit(seconds=60.0)
    server = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    server.kill()
    worker = launch.read(str(RunFolder.of(lab.project, run_id).path))
    assert worker is not None
    os.kill(worker.pid, signal.SIGKILL)
    wait_for(lambda: not launch.find_marked(run_id))
    servers(lab)
    run = ended(lab, run_id)
    assert run.error["message"] == "the server stopped while the run was going"  # type: ignore[index]
    assert run.state is State.ERROR


def test_killed_while_taking_in_predictions(make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]) -> None:
    lab = make_lab(12000, 2000, model_training=WRITEBACK)
    run_id = lab.submit()
    server = servers(lab)
    assert in_state(lab, run_id, State.EVALUATING).state is State.EVALUATING
    wait_for(lambda: lab.rows(tables.predictions.select().limit(1)) or lab.run(run_id).is_finished)
    server.kill()
    assert lab.run(run_id).state is State.EVALUATING
    assert lab.rows(tables.live_runs.select()) == []  # nothing of it is shown
    servers(lab)
    run = ended(lab, run_id)
    assert run.state is State.SUCCESS
    assert_whole(lab, run)
    assert run.live == ["sentiment"]


def test_a_cancel_before_the_kill_still_holds(make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]) -> None:
    lab = make_lab(model_training={"grace_seconds": 60})
    run_id = lab.submit(seconds=60.0, does="deaf")
    server = servers(lab)
    wait_for(lambda: lab.run(run_id).progress, 60)
    with lab.supervisor(start=False, tasks=False) as supervisor:
        supervisor.cancel(run_id)
    wait_for(lambda: lab.run(run_id).step == "stopping")
    server.kill()
    assert lab.run(run_id).state is State.RUNNING
    short = lab.config | {"model_training": lab.config["model_training"] | {"grace_seconds": 1}}
    lab.write(short)
    servers(lab)
    assert ended(lab, run_id).state is State.CANCELLED
    assert launch.find_marked(run_id) == []


def test_finished_runs_and_live_prelabels_outlive_the_kill(
    make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]
) -> None:
    lab = make_lab(model_training=WRITEBACK)
    run_id = lab.submit()
    server = servers(lab)
    before = ended(lab, run_id)
    server.kill()
    later = lab.submit(does="fail")
    servers(lab)
    assert ended(lab, later).state is State.ERROR
    assert lab.run(run_id) == before
    assert before.live == ["sentiment"]


@pytest.mark.timeout(60 + 30 * FAULTS)
def test_killed_at_random_instants(make_lab: Callable[..., Lab], servers: Callable[[Lab], Server]) -> None:
    """remote 50 on `local`, again and again."""
    lab = make_lab(3000, 600, model_training={**WRITEBACK, "retain_runs": 10_000})
    seed = int(os.environ.get("POTATO_SEED", random.randrange(10**6)))
    dice = random.Random(seed)
    print("seed", seed)
    run_ids: list[str] = []
    for _ in range(FAULTS):
        if not run_ids or lab.run(run_ids[-1]).is_finished:
            run_ids.append(lab.submit(seconds=dice.choice([0.0, 0.3, 1.0])))
        server = servers(lab)
        at_work = lambda: lab.run(run_ids[-1]).state in GOING or lab.run(run_ids[-1]).is_finished  # noqa: E731
        wait_for(at_work, 60)
        time.sleep(dice.random() * 2.5)  # any instant will do
        server.kill()
    servers(lab)
    for run_id in run_ids:
        assert_whole(lab, ended(lab, run_id, 120))
