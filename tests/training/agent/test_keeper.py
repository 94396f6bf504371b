"""The keeper: one an attempt, whatever is killed when. Here without a courier, by its job folder alone."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs import environment
from lab import wait_for
from potato.training.agent import folder as folders
from potato.training.agent.folder import Attempt, JobFolder
from potato.training.agent.keeping import Keeping
from potato.training.worker import launch, processes


class Kept:
    """A job folder as a courier leaves it, and the keepers that a test starts there."""

    def __init__(self, workdir: Path, archive: bytes, run_id: str, **job: Any) -> None:
        self.folder = JobFolder(str(workdir), run_id)
        whole = {
            "trainer": "strange",
            "schemas": ["s"],
            "params": {},
            "seed": 0,
            "device": "cpu",
            "grace_seconds": 1,
            **job,
        }
        self.folder.make({"backend": "lab", "host": "h", "python": sys.executable, "job": whole})
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            tar.extractall(self.folder.bundle, filter="data")
        self.attempt: Attempt = self.folder.attempt(1)
        self.attempt.make()
        self.keepers: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "potato.training.agent.keeper", self.folder.workdir, self.folder.run_id, "1"]
        self.keepers.append(
            subprocess.Popen(command, env=environment(), start_new_session=True, stderr=subprocess.DEVNULL)
        )
        return self.keepers[-1]

    def logged(self, message: str) -> int:
        path = Path(self.attempt.path, "events.jsonl")
        return path.read_text().count(message) if path.exists() else 0

    def end(self) -> dict[str, Any]:
        record: dict[str, Any] = wait_for(self.attempt.end)
        for keeper in self.keepers:
            keeper.wait(10)
        return record


@pytest.fixture
def kept(tmp_path: Path, archive: bytes, run_id: str) -> Iterator[Callable[..., Kept]]:
    made: list[Kept] = []

    def make(**job: Any) -> Kept:
        made.append(Kept(tmp_path / "work", archive, run_id, **job))
        return made[-1]

    yield make
    for one in made:
        for keeper in one.keepers:
            keeper.kill()
            keeper.wait()
        launch.kill_marked(one.folder.run_id)
        wait_for(lambda: not launch.find_marked(run_id))


def test_two_keepers_at_once_start_one_worker(kept: Callable[..., Kept]) -> None:
    made = kept()
    for _ in range(4):
        made.start()
    assert made.end() == {"exit_code": 0, "reason": None, "ran_out_of_memory": False}
    assert made.logged('"starting"') == made.logged('"event":"result"') == 1


@pytest.mark.parametrize("seed", range(int(os.environ.get("POTATO_FAULTS", "40")) // 10))
def test_keepers_that_are_killed_at_any_instant_cost_nothing(kept: Callable[..., Kept], seed: int) -> None:
    made = kept()
    for _ in range(3):
        keeper = made.start()
        try:
            keeper.wait(0.05 + 0.07 * ((seed * 7) % 13) / 3)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()
    made.start()
    record = made.end()
    assert record["exit_code"] == 0
    assert made.logged('"starting"') == made.logged('"event":"result"') == 1


def test_the_next_keeper_ends_the_worker_that_it_found(kept: Callable[..., Kept]) -> None:
    made = kept(params={"does": "wait_deaf"})
    first = made.start()
    wait_for(lambda: made.logged("now fit"))
    second = made.start()  # waits for the first
    first.kill()
    first.wait()
    wait_for(lambda: made.attempt.keeper_lives())
    made.attempt.ask_cancel("cancelled")
    record = made.end()
    assert record["reason"] == "cancelled"
    assert second.wait(5) == 0
    assert launch.find_marked(made.folder.run_id) == []


def test_a_lease_that_nobody_renews_ends_the_worker(kept: Callable[..., Kept]) -> None:
    made = kept(params={"does": "wait"}, give_up_s=0.5)
    made.start()
    assert made.end()["reason"] == "the server was out of reach"


def test_a_lease_that_is_renewed_keeps_it(kept: Callable[..., Kept]) -> None:
    made = kept(params={"does": "wait"}, give_up_s=2)
    made.start()
    done = threading.Event()

    def renew() -> None:
        while not done.wait(0.1):
            made.attempt.renew_lease()

    thread = threading.Thread(target=renew)
    thread.start()
    wait_for(lambda: made.logged("now fit"))
    assert not done.wait(3)
    assert made.attempt.end() is None
    done.set()
    thread.join()
    assert made.end()["reason"] == "the server was out of reach"


def test_a_cancel_before_the_worker_began_starts_none(kept: Callable[..., Kept]) -> None:
    made = kept()
    made.attempt.ask_cancel("cancelled")
    made.start()
    assert made.end() == {"exit_code": 4, "reason": "cancelled", "ran_out_of_memory": False}
    assert launch.read(made.attempt.path) is None


def test_a_cancel_on_a_full_disk_arrives_all_the_same(
    kept: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    """remote 46"""
    made = kept(params={"does": "wait"})
    made.start()
    wait_for(lambda: made.logged("now fit"))

    def full(path: str, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders, "write_atomic", full)
    made.attempt.renew_lease()
    made.attempt.ask_cancel("cancelled")
    assert made.end()["exit_code"] == 4


def test_a_machine_that_goes_down_leaves_a_record(kept: Callable[..., Kept]) -> None:
    made = kept(params={"does": "wait"})
    keeper = made.start()
    wait_for(lambda: made.logged("now fit"))
    keeper.send_signal(signal.SIGTERM)
    record = made.end()
    assert (record["exit_code"], record["reason"]) == (4, "stopped")


def test_a_worker_that_was_killed_for_want_of_memory(kept: Callable[..., Kept]) -> None:
    made = kept(params={"does": "wait"})
    made.start()
    wait_for(lambda: made.logged("now fit"))
    os.kill(json.loads(Path(made.attempt.path, "worker.json").read_text())["pid"], signal.SIGKILL)
    record = made.end()
    assert (record["exit_code"], record["reason"]) == (-9, None)


def test_a_keeper_that_can_never_write_its_record_is_given_up(
    kept: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    """remote 46: the end is told all the same, and nothing is left running."""
    made = kept(params={"does": "wait"})
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    keeping = Keeping(made.folder, made.attempt, 0.02)
    found: list[Any] = []
    monkeypatch.setattr(Attempt, "end", lambda self: None)
    keeping.look()
    wait_for(lambda: made.logged("now fit"))
    Path(made.attempt.path, "ended.json").mkdir()  # nothing can be renamed there
    made.attempt.ask_cancel("cancelled")
    wait_for(lambda: found.append(keeping.look()) or found[-1])
    assert found[-1]["exit_code"] == 4
    assert "keeper.log there tells why" in found[-1]["reason"]
    assert not processes.marked(f"POTATO_RUN={made.folder.run_id}")


def test_a_worker_that_was_recorded_and_never_told_to_begin_is_started_anew(kept: Callable[..., Kept]) -> None:
    """Its keeper was killed between the two, and the worker has ended without a trace."""
    made = kept()
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    record = {"pid": gone.pid, "started": "1", "boot_id": processes.boot_id(), "run_id": made.folder.run_id}
    Path(made.attempt.path, "worker.json").write_text(json.dumps(record))
    made.start()
    assert made.end()["exit_code"] == 0
    assert made.logged('"starting"') == 1
