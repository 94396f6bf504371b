"""Following a job's files over storage that lags, and going on after a keeper was killed."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

from lab import wait_for
from potato.training.agent import folder as folders
from potato.training.agent.folder import Attempt
from potato.training.agent.slurm.follower import Follower
from potato.training.agent.slurm.journal import Journal
from potato.training.contract.events import EventWriter
from potato.training.worker import processes
from slurm_scene import Login


def worker_lines(path: Path) -> list[bytes]:
    """The lines of a journal that are no keeper's."""
    return [line for line in path.read_bytes().splitlines(keepends=True) if not line.startswith(b'{"by":"agent",')]


def write_events(folder: Path, count: int) -> bytes:
    folder.mkdir()
    writer = EventWriter(str(folder / "events.jsonl"), progress_interval_s=0)
    for number in range(count):
        writer.log("info", f"line {number} \u2028 é")
    writer.close()
    return (folder / "events.jsonl").read_bytes()


def test_a_view_that_lags_tears_and_shrinks_brings_every_event_once_and_in_order(tmp_path: Path) -> None:
    """remote 18: a copier stands in for the storage; a later start begins with files of its own"""
    chance = random.Random(7)
    whole = [write_events(tmp_path / f"node-{number}", 200) for number in (1, 2)]
    seen = tmp_path / "seen"
    seen.mkdir()
    follower = Follower(str(seen), Journal(str(seen / "events.jsonl")), every_s=0)
    for number, data in enumerate(whole, 1):
        (seen / f"start-{number}").mkdir()
        view, shown = seen / f"start-{number}" / "events.jsonl", 0
        while shown < len(data):
            shown = min(len(data), shown + chance.randrange(400))
            hole = b"\0" * chance.choice((0, 0, 50))
            view.write_bytes(data[: max(0, shown - chance.choice((0, 0, 0, 900)))] + hole)
            follower.look()
            if chance.random() < 0.1:  # the keeper was killed, and the next goes on
                follower = Follower(str(seen), Journal(str(seen / "events.jsonl")), every_s=0)
        view.write_bytes(data)
        follower.look()
    assert b"".join(worker_lines(seen / "events.jsonl")) == b"".join(whole)


def test_what_an_older_start_still_writes_is_not_taken(tmp_path: Path) -> None:
    """remote 8"""
    journal = tmp_path / "events.jsonl"
    follower = Follower(str(tmp_path), Journal(str(journal)), every_s=0)
    first = write_events(tmp_path / "start-1", 3)
    follower.look()
    follower.leave()
    with (tmp_path / "start-1" / "events.jsonl").open("ab") as file:
        file.write(b'{"v":1,"event":"log","t":1,"level":"info","msg":"still here"}\n')
    follower.look()
    second = write_events(tmp_path / "start-2", 2)
    follower.look()
    assert b"".join(worker_lines(journal)) == first + second


def test_a_job_folder_that_shows_up_late_is_waited_for(login: Login) -> None:
    """remote 18: what the worker wrote appears seconds after SLURM called the job completed"""
    hide = 'mkdir -p "$potato_folder/late"; ln -s "$potato_folder/late" "$potato_start.real"'
    late = f'{hide}; potato_start="$potato_folder/late"'
    one = login.submit({"prelude": [late]})
    wait_for(lambda: (one.folder / "late" / "exit_code").exists())
    one.says("COMPLETED")
    assert one.run.result is None
    for path in sorted((one.folder / "late").iterdir(), reverse=True):
        path.rename(one.folder / "start-1" / path.name)
        time.sleep(0.2)
    assert one.ended()["exit_code"] == 0, one.log()
    assert one.results() == ["success"] and one.log().count("starting the worker") == 1


def test_a_keeper_that_is_killed_is_followed_by_another(login: Login, cluster: object) -> None:
    one = login.submit({"prelude": ["sleep 3"]})
    for line in ("Submitted SLURM job", "RUNNING on", "starting the worker"):
        one.says(line)
        os.kill(one.keeper(), signal.SIGKILL)
    assert one.ended()["exit_code"] == 0, one.log()
    assert one.results() == ["success"] and one.log().count("starting the worker") == 1
    assert sum("Submitted SLURM job" in line for line in one.log()) == 1


def test_a_keeper_on_another_login_node_lives_as_long_as_it_is_heard(tmp_path: Path, monkeypatch) -> None:
    """remote 20"""
    monkeypatch.setattr(folders, "BEATS_S", 1.0)
    there, here = Attempt(str(tmp_path), 1), Attempt(str(tmp_path), 1)
    there.make()
    there.note_keeper()
    note = json.loads((tmp_path / "keeper.json").read_text())
    (tmp_path / "keeper.json").write_text(json.dumps({**note, "host": "login2", "boot_id": "another"}))
    until = time.monotonic() + 2.5
    while time.monotonic() < until:
        there.beat()
        assert here.keeper_lives()
        time.sleep(0.05)
    wait_for(lambda: not here.keeper_lives())
    (tmp_path / "keeper.json").write_text(json.dumps({**note, "boot_id": "before the machine was started again"}))
    assert not Attempt(str(tmp_path), 1).keeper_lives()
    assert processes.boot_id() != ""
