"""The child process for long work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import psutil
import pytest

from lab import Lab, wait_for
from potato.errors import PotatoError
from potato.tasks import TaskCrashed, TaskRefused, TaskRunner, registry

TESTS = Path(__file__).parents[1]
LIMIT = 60


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("PYTHONPATH", str(TESTS))
    return Lab(tmp_path / "lab", 1)


@pytest.fixture
def runner(lab: Lab) -> Iterator[TaskRunner]:
    runner = TaskRunner(lab.project, "odd_tasks")
    runner.start()
    yield runner
    runner.close()


def test_answers_come_in_order_from_one_child_at_low_priority(runner: TaskRunner) -> None:
    futures = [runner.run("echo", {"n": n, "text": "ü 💩 \u2028"}) for n in range(5)]
    answers = [future.result(LIMIT) for future in futures]
    assert [answer["n"] for answer in answers] == [0, 1, 2, 3, 4]
    assert answers[0]["text"] == "ü 💩 \u2028"
    assert answers[0]["project"] == "Lab"
    assert len({answer["pid"] for answer in answers}) == 1
    assert answers[0]["nice"] >= min(19, os.nice(0) + 10)


def test_an_error_for_people_crosses_as_it_is(runner: TaskRunner) -> None:
    with pytest.raises(TaskRefused) as caught:
        runner.run("refuse", {}).result(LIMIT)
    error: PotatoError = caught.value
    assert (error.message, error.code, error.status, error.hint) == ("There is no tea", "out_of_tea", 418, "boil some")


def test_an_unforeseen_error_is_a_sentence_and_the_child_goes_on(runner: TaskRunner) -> None:
    before = runner.run("echo", {}).result(LIMIT)["pid"]
    with pytest.raises(TaskCrashed, match="ZeroDivisionError: by nothing"):
        runner.run("crash", {}).result(LIMIT)
    assert runner.run("echo", {}).result(LIMIT)["pid"] == before


def test_a_dead_child_fails_its_task_alone(runner: TaskRunner) -> None:
    dying, next_ = runner.run("die", {}), runner.run("echo", {"n": 1})
    with pytest.raises(TaskCrashed, match="was killed by signal 9"):
        dying.result(LIMIT)
    assert next_.result(LIMIT)["n"] == 1


def test_an_abandoned_task_ends_and_the_next_runs(runner: TaskRunner) -> None:
    hanging, waiting, sound = runner.run("hang", {}), runner.run("echo", {"n": 1}), runner.run("echo", {"n": 2})
    wait_for(hanging.running)
    runner.abandon(waiting)
    runner.abandon(hanging)
    assert waiting.cancelled()
    with pytest.raises(TaskCrashed):
        hanging.result(LIMIT)
    assert sound.result(LIMIT)["n"] == 2


def test_closing_ends_what_is_going_and_cancels_what_waits(lab: Lab) -> None:
    runner = TaskRunner(lab.project, "odd_tasks")
    runner.start()
    pid = runner.run("echo", {}).result(LIMIT)["pid"]
    hanging, waiting = runner.run("hang", {}), runner.run("echo", {})
    wait_for(hanging.running)
    runner.close()
    with pytest.raises(TaskCrashed):
        hanging.result(LIMIT)
    with pytest.raises(CancelledError):
        waiting.result(LIMIT)
    assert not psutil.pid_exists(pid)


def test_the_child_of_a_killed_server_ends_at_once(lab: Lab) -> None:
    program = (
        "import sys; from pathlib import Path; from lab import Lab; from potato.tasks import TaskRunner\n"
        "runner = TaskRunner(Lab.again(Path(sys.argv[1])).project, 'odd_tasks'); runner.start()\n"
        "print(runner.run('echo', {}).result()['pid'], flush=True); runner.run('hang', {}); sys.stdin.read()\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", program, str(lab.folder)], stdout=subprocess.PIPE, stdin=subprocess.PIPE
    )
    with server:
        assert server.stdout is not None
        pid = int(server.stdout.readline())
        assert psutil.pid_exists(pid)
        server.kill()
    wait_for(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)


def test_every_registered_task_is_there() -> None:
    registry.warm()
