"""A job's course: from the claim to the last byte, whatever happens on the way."""

from __future__ import annotations

import json
import os
import platform
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import wait_for
from potato.training.agent.folder import JobFolder
from potato.training.worker import launch
from standin import StandIn, hostile, pack

Start = Callable[..., Any]
SEEDS = int(os.environ.get("POTATO_FAULTS", "40")) // 10


def fitting(run: Any) -> None:
    wait_for(lambda: b'"now fit"' in bytes(run.files["events.jsonl"]))


def attempt(tmp_path: Path, run_id: str, number: int = 1) -> Path:
    return tmp_path / "work" / "jobs" / run_id / f"attempt-{number}"


def whole(run: Any, folder: Path) -> None:
    """What the server has is what the worker wrote, byte for byte."""
    for name in ("events.jsonl", "stderr.log", "predictions.jsonl"):
        assert bytes(run.files[name]) == (folder / name).read_bytes()


def test_a_job_goes_all_the_way(standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path) -> None:
    run = standin.add(run_id, archive, params={"does": "print"})
    agent = here()
    assert agent.join() == 0
    folder = attempt(tmp_path, run_id)
    whole(run, folder)
    assert [json.loads(line)["instance_id"] for line in run.files["predictions.jsonl"].splitlines()] == [
        "v", "é/ü 1", "p0", "p1", "p2"
    ]  # fmt: skip
    assert b"printed by a child" in run.files["stderr.log"]
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (0, None)
    assert run.result["artifact_uri"] == f"{platform.node()}:{folder}/artifacts"
    assert (folder / "artifacts" / "1-s" / "first.txt").exists()
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in folder.parent.iterdir()) == ["attempt-1"]  # the bundle is gone
    assert [line.split(": ", 1)[1] for line in agent.lines if "run " in line] == [
        "attempt 1", "the worker has finished", "delivered"
    ]  # fmt: skip


def test_the_bundle_is_kept_on_request(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    standin.add(run_id, archive)
    assert here(keep=True).join() == 0
    assert (attempt(tmp_path, run_id).parent / "bundle" / "manifest.json").exists()


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_hostile_way_loses_and_doubles_nothing(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path, seed: int
) -> None:
    run = standin.add(run_id, archive, params={"does": "print"}, piece_bytes=1024)
    standin.fault = hostile(seed)
    assert here().join(120) == 0
    whole(run, attempt(tmp_path, run_id))
    assert run.result is not None
    assert run.result["exit_code"] == 0
    assert len({report["attempt"] for report in run.reports}) == 1


def test_a_worker_that_fails_is_told_of(standin: StandIn, here: Start, archive: bytes, run_id: str) -> None:
    run = standin.add(run_id, archive, params={"does": "raise_trainer_error"})
    assert here().join() == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (1, None)
    assert b"the strange trainer has had enough" in run.files["events.jsonl"]


def test_an_interpreter_that_is_gone_is_named(standin: StandIn, here: Start, archive: bytes, run_id: str) -> None:
    run = standin.add(run_id, archive)
    assert here(python="/nowhere/python").join() == 0
    assert run.result is not None
    assert run.result["reason"] == f"/nowhere/python was not found on {platform.node()}"
    assert run.result["exit_code"] is None


@pytest.mark.parametrize("does", ["wait", "wait_deaf"])
def test_the_server_cancels(standin: StandIn, here: Start, archive: bytes, run_id: str, does: str) -> None:
    run = standin.add(run_id, archive, params={"does": does})
    agent = here()
    fitting(run)
    run.cancel = True
    assert agent.join() == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (4, "cancelled")


def test_what_a_worker_leaves_running_is_ended(standin: StandIn, here: Start, archive: bytes, run_id: str) -> None:
    run = standin.add(run_id, archive, params={"does": "leave_children"})
    assert here().join() == 0
    assert run.result is not None
    assert launch.find_marked(run_id) == []


def test_stopping_the_agent_cancels_the_job(standin: StandIn, here: Start, archive: bytes, run_id: str) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = here(once=False)
    fitting(run)
    agent.stop.set()
    assert agent.join() == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (4, "stopped")


def test_a_run_that_is_over_gives_way_to_the_next(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = here(once=False)
    fitting(run)
    run.over = True
    after = standin.add(run_id + "-next", archive)
    wait_for(lambda: after.result)
    agent.close()
    assert after.result is not None
    assert after.result["exit_code"] == 0
    assert not attempt(tmp_path, run_id).parent.exists()


def test_a_finished_model_stays_when_the_server_wants_it_no_more(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "print"})

    def too_large(handler: Any) -> str:
        if "predictions.jsonl" in handler.path:
            run.over = True
        return ""

    standin.fault = too_large
    assert here().join() == 0
    assert (attempt(tmp_path, run_id) / "artifacts" / "1-s" / "first.txt").exists()
    assert not (attempt(tmp_path, run_id).parent / "bundle").exists()


def test_the_server_goes_and_comes_back(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    """remote 50"""
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = here()
    fitting(run)
    standin.stop()
    wait_for(lambda: any("cannot be reached" in line for line in agent.lines))
    standin.start_again()
    wait_for(lambda: any("the server is back after" in line for line in agent.lines))
    run.cancel = True
    assert agent.join() == 0
    whole_events = (attempt(tmp_path, run_id) / "events.jsonl").read_bytes()
    assert bytes(run.files["events.jsonl"]) == whole_events


def test_a_worker_without_a_server_ends_and_is_told_of_when_it_is_back(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"}, give_up_s=0.5)
    agent = here()
    fitting(run)
    standin.stop()
    wait_for((attempt(tmp_path, run_id) / "ended.json").exists)
    assert launch.find_marked(run_id) == []
    standin.start_again()
    assert agent.join() == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (4, "the server was out of reach")


def test_a_keeper_that_is_killed_is_followed_by_another(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = here()
    fitting(run)
    folder = attempt(tmp_path, run_id)
    worker = json.loads((folder / "worker.json").read_text())
    first = json.loads((folder / "keeper.json").read_text())["pid"]
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: json.loads((folder / "keeper.json").read_text())["pid"] != first)
    assert worker == json.loads((folder / "worker.json").read_text())
    run.cancel = True
    assert agent.join() == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (4, "cancelled")
    assert run.files["events.jsonl"].count(b'"starting"') == 1


def test_a_worker_that_is_killed_is_told_by_its_signal(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = here()
    fitting(run)
    os.kill(json.loads((attempt(tmp_path, run_id) / "worker.json").read_text())["pid"], signal.SIGKILL)
    assert agent.join() == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (-9, None)


def test_a_newer_attempt_ends_the_older(
    standin: StandIn, there: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    """The agent is killed and its order lost: the server gives a new attempt, and the old worker ends first."""
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = there()
    fitting(run)
    agent.kill()
    old = json.loads((attempt(tmp_path, run_id) / "worker.json").read_text())["pid"]
    (attempt(tmp_path, run_id).parent / "job.json").unlink()
    again = there()
    wait_for(lambda: run.attempt == 2)
    fitting(run)
    assert not Path(f"/proc/{old}").exists() or old not in launch.find_marked(run_id)
    again.interrupt()
    assert again.wait() == 0
    assert run.result is not None
    assert (run.result["attempt"], run.result["reason"]) == (2, "stopped")


@pytest.mark.parametrize("keeper_too", [False, True])
def test_an_agent_that_was_killed_goes_on_with_its_job(
    standin: StandIn, there: Start, archive: bytes, run_id: str, tmp_path: Path, keeper_too: bool
) -> None:
    """remote 42: after a crash the same host claims again at once"""
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = there()
    fitting(run)
    agent.kill()
    folder = attempt(tmp_path, run_id)
    if keeper_too:
        os.kill(json.loads((folder / "keeper.json").read_text())["pid"], signal.SIGKILL)
    again = there("--once")
    count = len(run.reports)
    wait_for(lambda: len(run.reports) > count)
    run.cancel = True
    assert again.wait() == 0
    assert f"run {run_id}: going on with attempt 1" in again.said()
    assert run.result is not None
    assert (run.result["attempt"], run.result["exit_code"], run.result["reason"]) == (1, 4, "cancelled")
    assert run.files["events.jsonl"].count(b'"starting"') == 1


@pytest.mark.parametrize("seed", range(SEEDS))
def test_agents_that_are_killed_at_any_instant_lose_and_double_nothing(
    standin: StandIn, there: Start, archive: bytes, run_id: str, tmp_path: Path, seed: int
) -> None:
    run = standin.add(run_id, archive, params={"does": "print"})
    chance = random.Random(seed)
    for _ in range(3):
        agent = there("--once")
        try:
            agent.process.wait(chance.uniform(0.1, 1.5))
        except subprocess.TimeoutExpired:
            agent.kill()
        if run.result is not None:
            break
    if run.result is None:
        assert there("--once").wait() == 0
    assert run.result is not None
    assert run.result["exit_code"] == 0
    whole(run, attempt(tmp_path, run_id, run.attempt))
    assert run.files["events.jsonl"].count(b'"starting"') == run.files["events.jsonl"].count(b'"event":"result"') == 1
    wait_for(lambda: not launch.find_marked(run_id))


def test_an_end_that_was_not_delivered_is_delivered_by_the_next_agent(
    standin: StandIn, there: Start, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "print"})
    standin.fault = lambda handler: "html503" if "predictions" in handler.path else ""
    agent = there()
    wait_for((attempt(tmp_path, run_id) / "ended.json").exists)
    agent.kill()
    standin.fault = lambda handler: ""
    assert here().join() == 0
    whole(run, attempt(tmp_path, run_id))
    assert run.result is not None
    assert run.result["exit_code"] == 0


def test_an_end_that_was_taken_and_whose_answer_was_lost_costs_nothing(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive)
    lost: list[str] = []

    def lose(handler: Any) -> str:
        if handler.path.endswith("/result") and len(lost) < 3:
            lost.append(handler.path)
            return "drop_after"
        return ""

    standin.fault = lose
    agent = here()
    assert agent.join() == 0
    assert len(lost) == 3
    assert run.result is not None
    assert any("delivered" in line for line in agent.lines)
    assert (attempt(tmp_path, run_id) / "artifacts").exists()


def test_a_download_goes_on_where_it_broke(standin: StandIn, here: Start, run_id: str, tmp_path: Path) -> None:
    bundle = tmp_path / "source"
    bundle.mkdir()
    (bundle / "noise").write_bytes(os.urandom(3_000_000))
    run = standin.add(run_id, pack(bundle))
    cuts = iter(["cut"] * 12)
    standin.fault = lambda handler: next(cuts, "") if handler.path.partition("?")[0].endswith("/bundle") else ""
    assert here().join() == 0
    assert run.result is not None
    assert run.result["exit_code"] == 2  # no bundle, but whole
    assert sum("/bundle" in request for request in standin.requests) == 13


@pytest.mark.parametrize("kind", ["html200", "drop", "html403"])
def test_a_bundle_that_never_comes_ends_the_job(
    standin: StandIn, here: Start, archive: bytes, run_id: str, kind: str
) -> None:
    run = standin.add(run_id, archive, give_up_s=0.5)
    standin.fault = lambda handler: kind if "/bundle" in handler.path else ""
    assert here().join() == 0
    assert run.result is not None
    assert run.result["exit_code"] is None
    assert "the bundle could not be" in run.result["reason"] or run.result["reason"] == "the server was out of reach"


def test_a_bundle_that_was_changed_on_the_way_ends_the_job(
    standin: StandIn, here: Start, archive: bytes, run_id: str
) -> None:
    run = standin.add(run_id, archive)
    real = run.offer
    run.offer = lambda: {**real(), "bundle": {"bytes": len(archive), "sha256": "0" * 64}}  # type: ignore[method-assign]
    assert here().join() == 0
    assert run.result is not None
    assert run.result["reason"].startswith("the bundle came over damaged twice")


def test_a_proxy_with_small_bodies_gets_small_pieces(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "long_error"}, piece_bytes=1 << 20)
    standin.fault = lambda handler: "html413" if len(handler.content) > 20_000 else ""
    folder = attempt(tmp_path, run_id)
    agent = here()
    fitting(run)
    with (folder / "stderr.log").open("ab") as file:
        file.write(b"x" * 300_000)
    assert agent.join() == 0
    assert len(run.files["stderr.log"]) > 300_000


def test_a_way_that_cuts_long_pieces_gets_shorter_ones(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "long_error"}, piece_bytes=1 << 20)
    standin.fault = lambda handler: "drop" if len(handler.content) > 40_000 else ""
    agent = here()
    fitting(run)
    with (attempt(tmp_path, run_id) / "stderr.log").open("ab") as file:
        file.write(b"x" * 300_000)
    assert agent.join() == 0
    assert bytes(run.files["stderr.log"]) == (attempt(tmp_path, run_id) / "stderr.log").read_bytes()


def test_a_file_that_the_server_lost_a_part_of_is_sent_again(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    run = standin.add(run_id, archive, params={"does": "print"})
    lost: list[int] = []

    def lose(handler: Any) -> str:
        if handler.path.endswith("/result") and not lost:
            lost.append(len(run.files["events.jsonl"]))
            del run.files["events.jsonl"][100:]
        return ""

    standin.fault = lose
    assert here().join() == 0
    assert lost
    whole(run, attempt(tmp_path, run_id))


def test_files_that_never_come_over_whole_end_the_run_with_a_reason(
    standin: StandIn, here: Start, archive: bytes, run_id: str
) -> None:
    run = standin.add(run_id, archive)

    def lose(handler: Any) -> str:
        if handler.path.endswith("/result"):
            run.files["events.jsonl"].clear()
        return ""

    standin.fault = lose
    assert here().join() == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["files"]) == (None, {})
    assert run.result["reason"] == "the files of the run could not be brought over whole"


def test_a_disk_that_is_full_is_told_of(
    standin: StandIn, here: Start, archive: bytes, run_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """remote 46"""
    run = standin.add(run_id, archive)

    def full(self: Any, order: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(JobFolder, "make", full)
    assert here().join() == 0
    assert run.result is not None
    assert "could not be stored on" in run.result["reason"]
    assert "No space left" in run.result["reason"]


def test_an_agent_that_nobody_can_be_told_of_leaves_the_job_to_the_next(
    standin: StandIn, here: Start, archive: bytes, run_id: str
) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"})
    agent = here(once=False)
    fitting(run)
    standin.stop()
    agent.stop.set()
    assert agent.join() == 1
    assert any("the next agent here will tell it" in line for line in agent.lines)
    assert launch.find_marked(run_id) == []
    standin.start_again()
    assert here().join() == 0
    assert run.result is not None
    assert run.result["reason"] == "stopped"


def test_another_backends_job_in_the_same_folder_is_left_alone(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    order = {"backend": "other", "host": platform.node(), "python": sys.executable, "job": {}}
    JobFolder(str(tmp_path / "work"), "elsewhere").make(order)
    standin.add(run_id, archive)
    assert here().join() == 0
    assert JobFolder(str(tmp_path / "work"), "elsewhere").order() == order


def test_an_agent_that_was_killed_after_the_last_answer_finds_nothing_to_do(
    standin: StandIn, here: Start, archive: bytes, run_id: str, tmp_path: Path
) -> None:
    """The run is over on the server because this very end was taken: the model stays."""
    standin.add(run_id, archive)
    assert here().join() == 0
    job = {**standin.runs[run_id].offer()}
    order = {"backend": "lab", "host": platform.node(), "python": sys.executable, "job": job}
    JobFolder(str(tmp_path / "work"), run_id).make(order)
    again = here()
    assert again.join() == 0
    assert any("delivered" in line for line in again.lines)
    assert (attempt(tmp_path, run_id) / "artifacts" / "1-s" / "first.txt").exists()
