"""The courier over a connection: whatever breaks, the job goes on with the next."""

from __future__ import annotations

import json
import os
import random
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from host_scene import Answer, ChannelClosed, Door, Host, asks
from jobs import STRANGE, Item, write_bundle
from keepers import keepers_of
from lab import wait_for
from potato.training.agent.folder import Attempt, JobFolder
from potato.training.worker import launch
from standin import Run, StandIn, pack

Start = Callable[..., Host]
SEEDS = int(os.environ.get("POTATO_FAULTS", "40")) // 10


class Cut(Exception):
    """The connection broke."""


def cutting(door: Door, when: Callable[[str, str, bytes], bool], answered: bool = False) -> Door:
    """A door behind which the connection breaks at the first request that `when` names; `answered` says whether the
    server had got it by then."""

    def cut(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if not when(method, path, body):
            return door(method, path, headers, body)
        if answered:
            door(method, path, headers, body)
        raise Cut

    return cut


def work_until_cut(there: Host, door: Door, run_id: str, **more: Any) -> None:
    with pytest.raises(Cut):
        there.work(door, run_id, **more)
    assert there.close() == 0


def attempt(there: Host, run_id: str, number: int = 1) -> Attempt:
    return JobFolder(there.remote_dir, run_id).attempt(number)


def fitting(run: Run) -> bool:
    return b'"now fit"' in bytes(run.files["events.jsonl"])


def delivered(there: Host, standin: StandIn, run: Run, **more: Any) -> None:
    """The courier of this connection brings it to a good end; nothing was lost, doubled, or begun twice."""
    run_id = run.job["run_id"]
    ended = there.work(asks(standin), run_id, **more)
    assert run.result is not None
    assert (ended["code"], run.result["exit_code"], run.result["reason"]) == (0, 0, None), run.files["stderr.log"]
    assert run.attempt == 1
    for name in ("events.jsonl", "stderr.log", "predictions.jsonl"):
        assert bytes(run.files[name]) == Path(attempt(there, run_id).path, name).read_bytes()
    assert bytes(run.files["events.jsonl"]).count(b'"state":"starting"') == 1


def test_a_job_goes_all_the_way(standin: StandIn, host: Start, archive: bytes, run_id: str) -> None:
    run = standin.add(run_id, archive)
    there = host()
    ended = there.work(asks(standin), run_id)
    assert (ended["code"], run.result and run.result["exit_code"]) == (0, 0), run.files["stderr.log"]
    assert ended["said"] == [f"run {run_id}: the worker has finished"]
    lines = bytes(run.files["predictions.jsonl"]).splitlines()
    assert [json.loads(line)["instance_id"] for line in lines] == ["v", "p0", "p1", "p2"]
    assert there.stderr() == ""


def test_python_38_under_another_alphabet(
    standin: StandIn, host: Start, run_id: str, python38: str, tmp_path: Path
) -> None:
    """With `LC_ALL=C`, a home of 120 bytes and a folder with a space and an é."""
    items = [Item("ä", "größer 日本", "train", {"s": "ja 好"}), Item("ж", "x", "train", {"s": "nein ñ"})]
    write_bundle(
        tmp_path / "odd",
        [*items, Item("ключ 🙂", "t", "test", {"s": "ja 好"})],
        {"s": ("nominal", ["ja 好", "nein ñ"])},
    )
    run = standin.add(run_id, pack(tmp_path / "odd"))
    home = "h" * (120 - len(os.fsencode(tmp_path)) - 1) if len(os.fsencode(tmp_path)) < 118 else "h"
    there = host(python38, home=home, remote_dir="~/a spacé/potato", env={"LC_ALL": "C", "LANG": ""})
    assert there.python.startswith("3.8.")
    assert there.remote_dir.endswith("/a spacé/potato")
    delivered(there, standin, run)
    assert json.loads(run.files["predictions.jsonl"])["instance_id"] == "ключ 🙂"
    assert run.result is not None
    assert "/a spacé/potato/jobs/" in run.result["artifact_uri"]


# Breaks


def nth(number: int, part: str) -> Callable[[str, str, bytes], bool]:
    """The `number`-th request with `part` in its path."""
    seen = [0]

    def when(method: str, path: str, body: bytes) -> bool:
        seen[0] += part in path
        return seen[0] == number and part in path

    return when


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize(
    "stage",
    [
        pytest.param(lambda: nth(1, "/claim"), id="claim"),
        pytest.param(lambda: nth(2, "/bundle"), id="bundle"),
        pytest.param(lambda: lambda method, path, body: b'"now fit"' in body, id="worker"),
        pytest.param(lambda: nth(2, "/predictions"), id="predictions"),
        pytest.param(lambda: nth(1, "/result"), id="result"),
    ],
)
def test_a_connection_that_breaks_loses_and_doubles_nothing(
    standin: StandIn, host: Start, run_id: str, tmp_path: Path, stage: Callable[[], Any], answered: bool
) -> None:
    items = [Item(f"p{number}", "x", "predict") for number in range(40)]
    items += [Item(f"t{number}", "x", "train", {"s": ("b", "a")[number % 2]}) for number in range(4)]
    write_bundle(tmp_path / "source", items, {"s": ("nominal", ["a", "b"])})
    (tmp_path / "source" / "media").mkdir()
    (tmp_path / "source" / "media" / "noise").write_bytes(random.Random(0).randbytes(2_500_000))
    run = standin.add(run_id, pack(tmp_path / "source"), piece_bytes=1024)
    work_until_cut(host(), cutting(asks(standin), stage(), answered), run_id)
    if run.result is not None:  # the server knows all, and asks for no work any more
        assert run.result["exit_code"] == 0
        return
    run.session = ""  # where nothing of the job had come, it may be claimed afresh
    delivered(host(), standin, run)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_connections_that_break_again_and_again(
    standin: StandIn, host: Start, archive: bytes, run_id: str, seed: int
) -> None:
    run = standin.add(run_id, archive, piece_bytes=1024, params={"does": "print"})
    chance = random.Random(seed)
    for _ in range(4):
        run.session = ""  # where the break came between claim and folder, it may be claimed afresh
        cut = cutting(asks(standin), nth(chance.randint(1, 12), "/"), chance.random() < 0.5)
        if run.result is None:
            with suppress(Cut):
                host().work(cut, run_id)
    if run.result is None:
        delivered(host(), standin, run)


def test_the_keeper_goes_on_without_a_connection(standin: StandIn, host: Start, archive: bytes, run_id: str) -> None:
    """It finishes meanwhile, and the next courier tells."""
    run = standin.add(run_id, archive)
    there = host()
    work_until_cut(there, cutting(asks(standin), lambda method, path, body: b"starting" in body), run_id)
    record = wait_for(attempt(there, run_id).end, 60)
    assert record["exit_code"] == 0
    assert not fitting(run)
    delivered(host(), standin, run)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_courier_that_is_ended_by_a_signal_cancels_nothing(
    standin: StandIn, host: Start, archive: bytes, run_id: str, number: int
) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"})
    there = host()

    def kill(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if b'"now fit"' in body:
            os.kill(there.process.pid, number)
        return asks(standin)(method, path, headers, body)

    with pytest.raises(ChannelClosed):
        there.work(kill, run_id)
    assert attempt(there, run_id).is_going()
    assert attempt(there, run_id).cancel_reason() is None
    run.cancel = True
    assert host().work(asks(standin), run_id)["code"] == 0
    assert run.result is not None
    assert (run.result["exit_code"], run.result["reason"]) == (4, "cancelled")


def test_a_new_courier_ends_one_whose_connection_hangs(
    standin: StandIn, host: Start, archive: bytes, run_id: str
) -> None:
    """Its client was suspended, say: nobody answers it, and nobody hangs up."""
    run = standin.add(run_id, archive)
    older, newer = host(), host()
    stuck = threading.Event()

    def hang(method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        if b"starting" in body:
            stuck.set()
            older.process.wait(60)  # the answer never comes
        return asks(standin)(method, path, headers, body)

    failure: list[BaseException] = []

    def serve() -> None:
        try:
            older.work(hang, run_id)
        except ChannelClosed as closed:
            failure.append(closed)

    thread = threading.Thread(target=serve)
    thread.start()
    assert stuck.wait(60)
    delivered(newer, standin, run)
    thread.join(60)
    assert older.process.returncode == -signal.SIGKILL
    assert failure


# Limits


def test_the_keeper_gives_up_by_itself(standin: StandIn, host: Start, archive: bytes, run_id: str) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"}, give_up_s=5.0)
    there = host()
    work_until_cut(there, cutting(asks(standin), lambda method, path, body: b'"now fit"' in body), run_id)
    record = wait_for(attempt(there, run_id).end, 60)
    assert (record["exit_code"], record["reason"]) == (4, "the server was out of reach")
    assert launch.find_marked(run_id) == []
    assert host().work(asks(standin), run_id)["code"] == 0  # a server that comes too late is told
    assert run.result is not None and run.result["reason"] == "the server was out of reach"


def test_where_no_run_goes_on_without_its_connection_it_is_ended_at_once(
    standin: StandIn, host: Start, archive: bytes, run_id: str
) -> None:
    """With give_up_s 0; and slow answers do not end it."""
    standin.add(run_id, archive, params={"does": "wait"}, give_up_s=0, heartbeat_timeout_s=3600)
    there = host()
    reports = [0]

    def when(method: str, path: str, body: bytes) -> bool:
        reports[0] += "/report" in path
        return reports[0] > 30

    work_until_cut(there, cutting(asks(standin), when), run_id)
    record = wait_for(attempt(there, run_id).end, 60)
    assert record["reason"] == "the server was out of reach"
    wait_for(lambda: not keepers_of(run_id), 60)


def test_what_the_server_wants_nothing_of_is_ended_and_left_to_it(
    standin: StandIn, host: Start, archive: bytes, run_id: str
) -> None:
    run = standin.add(run_id, archive, params={"does": "wait"})

    def over(method: str, path: str, body: bytes) -> bool:
        run.over = run.over or b'"now fit"' in body
        return False

    there = host()
    ended = there.work(cutting(asks(standin), over), run_id)
    assert (ended["code"], ended["said"][-1]) == (1, "the stand-in says run_is_over")
    assert launch.find_marked(run_id) == []
    assert Path(attempt(there, run_id).path, "events.jsonl").exists()
    there.call("remove", run_id=run_id, keep_artifacts=False)
    assert not Path(attempt(there, run_id).path).parent.exists()


# Surroundings


def test_the_worker_has_the_environment_of_its_order(
    standin: StandIn, host: Start, archive: bytes, run_id: str
) -> None:
    """And still after a courier that was told of none, and a keeper that was killed."""
    run = standin.add(run_id, archive, params={"does": "wait"})
    there = host(env={"FROM_LOGIN": "a b"})
    env = {"CUDA_VISIBLE_DEVICES": "GPU-1", "PYTHONPATH": str(STRANGE)}
    work_until_cut(there, cutting(asks(standin), lambda method, path, body: b'"now fit"' in body), run_id, env=env)
    (keeper,) = keepers_of(run_id)
    os.kill(keeper, signal.SIGKILL)

    def cancel(method: str, path: str, body: bytes) -> bool:
        run.cancel = run.cancel or fitting(run)
        return False

    order = JobFolder(there.remote_dir, run_id).order()
    assert order is not None and order["env"] == env
    worker = attempt(there, run_id).worker()
    assert worker is not None
    environ = Path(f"/proc/{worker.pid}/environ").read_bytes().split(b"\0")
    assert {b"CUDA_VISIBLE_DEVICES=GPU-1", b"FROM_LOGIN=a b"} <= set(environ)
    assert host().work(cutting(asks(standin), cancel), run_id, env=None)["code"] == 0
    assert run.result is not None and run.result["exit_code"] == 4


def test_worker_and_keeper_hold_nothing_of_the_connection(
    standin: StandIn, host: Start, archive: bytes, run_id: str
) -> None:
    """Else the far side would wait for them when the connection ends."""
    run = standin.add(run_id, archive, params={"does": "wait"})
    there = host()
    held: list[set[str]] = []

    def look(method: str, path: str, body: bytes) -> bool:
        if b'"now fit"' in body:
            worker = attempt(there, run_id).worker()
            assert worker is not None
            held.extend(open_files(pid) for pid in [there.process.pid, worker.pid, *keepers_of(run_id)])
            run.cancel = True
        return False

    there.work(cutting(asks(standin), look), run_id)
    ours = {str(Path(f"/proc/self/fd/{pipe.fileno()}").readlink()) for pipe in there.pipes}
    courier, *others = held
    assert ours <= courier
    assert len(others) == 2
    for one in others:
        assert not ours & one


def open_files(pid: int) -> set[str]:
    """What its descriptors lead to."""
    return {str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir()}


def test_an_interpreter_for_the_worker_that_is_not_there(
    standin: StandIn, host: Start, archive: bytes, run_id: str
) -> None:
    standin.add(run_id, archive)
    with pytest.raises(Exception, match=r"^/nowhere/python was not found on ") as caught:
        host().work(asks(standin), run_id, python="/nowhere/python")
    assert getattr(caught.value, "code", "") == "python_not_found"
