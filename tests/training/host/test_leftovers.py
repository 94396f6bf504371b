"""What a run leaves on a host: its model files on their way home, its last words, its end, and what is tidied."""

from __future__ import annotations

import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from host_scene import ChannelClosed, Failed, Host, asks, taken
from keepers import keepers_of
from lab import wait_for
from potato.training.agent.folder import JobFolder
from potato.training.host.lock import Lock
from potato.training.worker import launch
from standin import Run, StandIn

Start = Callable[..., Host]
OLD = time.time() - 100 * 86400


class Left:
    """A run's folder on a host, made by hand."""

    def __init__(self, there: Host, run_id: str = "run") -> None:
        self.there = there
        self.folder = JobFolder(there.remote_dir, run_id)
        self.path = Path(self.folder.path)

    def model(self, files: dict[str, bytes], number: int = 1) -> Path:
        folder = self.path / f"attempt-{number}" / "artifacts"
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return folder

    def fetch(self, path: str, offset: int = 0, attempt: int = 1) -> tuple[bytes, str]:
        """A file from `offset` on, and the digest of the whole."""
        channel = self.there.channel
        channel.send({"call": "send_artifact", "run_id": "run", "attempt": attempt, "path": path, "offset": offset})
        header, length = channel.receive_header(60)
        while "progress" in header:
            header, length = channel.receive_header(60)
        if not header["ok"]:
            raise Failed(header)
        assert header["bytes"] == length
        return taken(channel, length), channel.receive(60)[0]["sha256"]


@pytest.fixture
def left(host: Start) -> Left:
    return Left(host())


# Model files


def test_the_newest_attempt_s_files_are_listed(left: Left) -> None:
    left.model({"1-s/old.bin": b"old"}, number=2)
    folder = left.model({"1-s/model.bin": b"12345", "1-s/sub/ä b.txt": b"", "2-t/x": b"x", ".3-u.part/half": b""}, 10)
    (folder / "1-s" / "link").symlink_to("/etc/passwd")
    (left.path / "attempt-11").mkdir()
    answer = left.there.call("list_artifacts", run_id="run")
    assert (answer["attempt"], answer["folder"]) == (10, str(folder))
    assert [(file["path"], file["bytes"]) for file in answer["files"]] == [
        ("1-s/model.bin", 5), ("1-s/sub/ä b.txt", 0), ("2-t/x", 1)
    ]  # fmt: skip
    assert abs(answer["files"][0]["mtime"] - time.time()) < 600


def test_a_run_without_model_files(left: Left) -> None:
    assert left.there.call("list_artifacts", run_id="run")["files"] == []


def test_a_file_comes_whole_and_goes_on_at_an_offset(left: Left) -> None:
    data = random.Random(0).randbytes(5_000_000)
    left.model({"1-s/model.bin": data, "empty": b""})
    sha256 = hashlib.sha256(data).hexdigest()
    assert left.fetch("1-s/model.bin") == (data, sha256)
    assert left.fetch("1-s/model.bin", 4_999_999) == (data[-1:], sha256)
    assert left.fetch("1-s/model.bin", 5_000_000) == (b"", sha256)
    assert left.fetch("empty") == (b"", hashlib.sha256(b"").hexdigest())
    assert left.there.call("hello")["ok"]


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "no", "1-s", "1-s//model.bin", "../stderr.log", "1-s/../../stderr.log"),
        *("/etc/passwd", "link", "away/passwd"),
    ],
)
def test_nothing_but_the_run_s_model_files_is_sent(left: Left, path: str) -> None:
    folder = left.model({"1-s/model.bin": b"x"})
    (folder.parent / "stderr.log").write_text("x")
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "away").symlink_to("/etc")
    with pytest.raises(Failed, match="there is no model file") as caught:
        left.fetch(path)
    assert caught.value.code == "no_such_artifact"
    assert left.fetch("1-s/model.bin")[0] == b"x"  # the stream is in step


def test_more_than_there_is_cannot_be_left_out(left: Left) -> None:
    left.model({"x": b"123"})
    with pytest.raises(Failed, match="has 3 bytes, fewer than 4"):
        left.fetch("x", 4)


def test_a_file_that_shrinks_amid_its_way_ends_the_connection(left: Left) -> None:
    folder = left.model({"x": b"\0" * 40_000_000})
    left.there.channel.send({"call": "send_artifact", "run_id": "run", "attempt": 1, "path": "x", "offset": 0})
    _, length = left.there.channel.receive_header(60)
    os.truncate(folder / "x", 1000)
    with pytest.raises(ChannelClosed):
        taken(left.there.channel, length)
    assert left.there.process.wait(30) == 0


# Last words, and the end


def test_the_last_words_of_a_run(left: Left) -> None:
    folder = left.path / "attempt-2"
    folder.mkdir(parents=True)
    (left.path / "attempt-1").mkdir()
    (left.path / "attempt-1" / "stderr.log").write_text("of attempt 1")
    (folder / "stderr.log").write_text("x" * 100 + "\nTraceback: ä\n")
    (folder / "keeper.log").write_text("kept\n\n\n")
    assert left.there.call("tail", run_id="run", bytes=20)["text"].startswith("--- stderr.log\nxxxx")
    whole = left.there.call("tail", run_id="run", bytes=1000)["text"]
    assert whole.endswith("\nTraceback: ä\n--- keeper.log\nkept\n")
    assert "attempt 1" not in whole
    assert left.there.call("tail", run_id="another", bytes=1000)["text"] == ""


def fitting(there: Host, standin: StandIn, run: Run) -> None:
    """Have the run's worker at work, and its courier cut off."""

    class Cut(Exception):
        pass

    def door(method: str, path: str, headers: Any, body: bytes) -> Any:
        if b'"now fit"' in body:
            raise Cut
        return asks(standin)(method, path, headers, body)

    with pytest.raises(Cut):
        there.work(door, run.job["run_id"])
    there.close()


@pytest.mark.parametrize("does", ["wait", "wait_deaf"])
def test_a_run_is_ended_from_another_connection(
    standin: StandIn, host: Start, archive: bytes, run_id: str, does: str
) -> None:
    run = standin.add(run_id, archive, params={"does": does}, grace_seconds=1)
    fitting(host(), standin, run)
    there = host()
    with pytest.raises(Failed, match="is still going here") as caught:
        there.call("remove", run_id=run_id, keep_artifacts=False)
    assert caught.value.code == "still_running"
    assert there.call("end", run_id=run_id)["left"] == []
    assert {frame["progress"] for frame in there.progress} == {"ending the worker"}
    assert launch.find_marked(run_id) == []
    assert keepers_of(run_id) == []
    record = JobFolder(there.remote_dir, run_id).attempt(1).end()
    assert record is not None
    assert record["reason"] == "cancelled"
    assert there.call("end", run_id=run_id)["left"] == []
    there.call("remove", run_id=run_id, keep_artifacts=False)
    assert not Path(there.remote_dir, "jobs", run_id).exists()


def test_a_courier_that_still_works_is_ended_too(standin: StandIn, host: Start, archive: bytes, run_id: str) -> None:
    standin.add(run_id, archive, params={"does": "wait"})
    older, there = host(), host()
    began = threading.Event()

    def door(method: str, path: str, headers: Any, body: bytes) -> Any:
        if b'"now fit"' in body:
            began.set()
        return asks(standin)(method, path, headers, body)

    def serve() -> None:
        with pytest.raises(ChannelClosed):
            older.work(door, run_id)

    thread = threading.Thread(target=serve)
    thread.start()
    assert began.wait(60)
    assert there.call("end", run_id=run_id)["left"] == []
    thread.join(90)
    assert not thread.is_alive()


# Removing


def test_all_but_the_model_files_goes(left: Left) -> None:
    left.folder.make({"job": {}})
    folder = left.model({"1-s/model.bin": b"x", "2-t/sub/x": b"y"}, number=2)
    left.model({"1-s/model.bin": b"half"}, number=1)
    (folder.parent / "stderr.log").write_text("x")
    (left.path / "bundle").mkdir()
    left.there.call("remove", run_id="run", keep_artifacts=True)
    files = sorted(str(path.relative_to(left.path)) for path in left.path.rglob("*") if path.is_file())
    assert files == ["attempt-2/artifacts/1-s/model.bin", "attempt-2/artifacts/2-t/sub/x"]
    left.there.call("remove", run_id="run", keep_artifacts=False)
    assert not left.path.exists()
    left.there.call("remove", run_id="run", keep_artifacts=False)  # and again


def test_what_is_write_protected_goes_as_well(left: Left, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("stays")
    folder = left.model({"1-s/sub/model.bin": b"x"})
    (folder / "away").symlink_to(tmp_path / "precious")
    for path in (folder / "1-s" / "sub", folder / "1-s", folder):
        path.chmod(0o500)
    left.there.call("remove", run_id="run", keep_artifacts=False)
    assert not left.path.exists()
    assert (tmp_path / "precious" / "file").read_text() == "stays"


# Tidying


def old(path: Path) -> Path:
    """Make it look as if nobody had touched it for long."""
    for inside in [*path.rglob("*"), path]:
        os.utime(inside, (OLD, OLD), follow_symlinks=False)
    return path


def finished(left: Left, run_id: str, code: int = 0, model: bool = False) -> Path:
    made = Left(left.there, run_id)
    attempt = made.folder.attempt(1)
    attempt.make()
    attempt.note_end({"exit_code": code, "reason": None})
    if model:
        made.model({"model.bin": b"x"})
    return made.path


def test_old_jobs_go_and_models_stay(left: Left) -> None:
    gone = [old(finished(left, "old")), old(finished(left, "failed", code=1, model=True))]
    orphan = Left(left.there, "orphan")
    orphan.folder.make({"job": {"grace_seconds": 1}})
    gone.append(old(orphan.path))
    stay = [old(finished(left, "with a model", model=True)), finished(left, "new")]
    kept = finished(left, "kept")
    (kept / "keep").write_text("")
    stay.append(old(kept))
    answer = left.there.call("tidy", keep_code="none")
    assert sorted(answer["removed"]) == sorted(map(str, gone))
    assert all(path.exists() for path in stay)
    assert not any(path.exists() for path in gone)
    assert left.there.progress


def test_a_job_that_is_going_stays(standin: StandIn, host: Start, archive: bytes, run_id: str) -> None:
    """And the code that it runs by."""
    run = standin.add(run_id, archive, params={"does": "wait"})
    first = host()
    fitting(first, standin, run)
    there = host()
    folder = old(Path(there.remote_dir, "jobs", run_id))
    for path in Path(there.remote_dir, "code").iterdir():
        os.utime(path, (OLD, OLD))
    assert there.call("tidy", keep_code="none")["removed"] == []
    assert folder.exists()
    there.call("end", run_id=run_id)
    wait_for(lambda: not keepers_of(run_id), 60)


def test_old_code_goes_and_so_does_what_was_half_made(left: Left) -> None:
    root = Path(left.there.remote_dir)
    mine = next((root / "code").iterdir())
    gone = [old(make(root / "code" / "0123456789abcdef")), old(make(root / "code" / "feed.123.part"))]
    gone += [old(make(root / "envs" / "broken"))]
    stay = [old(mine), make(root / "code" / "new"), make(root / "code" / "new.1.part"), make(root / "envs" / "new")]
    answer = left.there.call("tidy", keep_code=mine.name)
    assert sorted(answer["removed"]) == sorted(map(str, gone))
    assert all(path.exists() for path in stay)


def test_environments_go_once_nobody_has_used_them_for_long(left: Left) -> None:
    root = Path(left.there.remote_dir, "envs")
    unused, used, new = (make(root / name) for name in ("unused", "used", "new"))
    for path in (unused, used, new):
        (path / "complete.json").write_text(json.dumps({}))
    Left(left.there, "going").folder.make({"python": str(used / "bin" / "python"), "job": {}})
    assert left.there.call("tidy", keep_code="none")["removed"] == []
    old(unused), old(used)
    assert left.there.call("tidy", keep_code="none")["removed"] == [str(unused)]
    assert not unused.exists() and (used / "file").exists() and (new / "file").exists()
    with Lock(f"{unused}.lock"):
        pass  # whoever asks for it next waits for nobody


def make(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "file").write_text("x")
    return path


def test_what_cannot_be_removed_is_left(left: Left) -> None:
    if os.getuid() == 0:
        os.chown(old(finished(left, "theirs")), 12345, 12345)
    assert "removed" in left.there.call("tidy", keep_code="none")
