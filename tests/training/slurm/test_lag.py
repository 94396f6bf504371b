"""Storage that lags by up to 90 seconds behind SLURM's word, with the durations that users have.

The clock is the test's: a run of minutes takes seconds, and every second of it comes from that clock. What SLURM says
is the test's, too. The last test does the same with real seconds and a real SLURM.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lagging_storage import LaggingStorage
from potato.training.agent.folder import JobFolder
from potato.training.agent.slurm.settings import SlurmTiming, parse
from potato.training.agent.slurm.worker import SlurmWorker
from potato.training.contract.events import EventWriter, read_lines
from potato.training.contract.spec import Spec
from slurm_cluster import Cluster
from slurm_scene import Login, only_in_full

LAG_S = 90.0
RUN = "20261129T141500-lag"
PREDICTIONS = b'{"id":"i0","schema":"s","answer":"a"}\n' * 50
STEP_S = 1.0


class Clock:
    """A clock that stands still until it is told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Start:
    """SLURM starts the job: when, in seconds since the submission, and how many lines its worker logs meanwhile."""

    begins: float
    ends: float
    lines: int
    finishes: bool = True


class Scene:
    """A worker on the login node, a SLURM of a few lines of shell, and the storage between it and the nodes."""

    def __init__(self, folder: Path, attempts: list[Start], lag: Callable[[str], float]) -> None:
        self.clock = Clock()
        self._began = self.clock.now
        self._attempts = attempts
        attempt = JobFolder(str(folder / "work"), RUN).attempt(1)
        attempt.make()
        self.folder = Path(attempt.path)
        self._storage = LaggingStorage(self.folder, lag)
        self._bin = folder / "bin"
        self._bin.mkdir()
        for name, text in {
            "sbatch": "echo 7",
            "squeue": f'cat "{folder}/squeue"',
            "scancel": "exit 0",
            "scontrol": f'[ "$1 $2" = "show config" ] && exit 1; cat "{folder}/scontrol"',
        }.items():
            (self._bin / name).write_text(f"#!/bin/sh\n{text}\n")
            (self._bin / name).chmod(0o755)
        self._said = folder / "squeue"
        self._shown = folder / "scontrol"
        self._shown.write_text("")
        self.worker = SlurmWorker(
            JobFolder(str(folder / "work"), RUN),
            attempt,
            Spec(RUN, "t", ["s"], "bundle", str(self.folder)),
            sys.executable,
            {"PATH": f"{self._bin}{os.pathsep}/usr/bin{os.pathsep}/bin"},
            parse({}),
            self.clock,
        )
        self.written = [self._lines(folder / f"node-{n}", one) for n, one in enumerate(attempts, 1)]

    def _lines(self, folder: Path, attempt: Start) -> list[bytes]:
        """What the worker writes in one start."""
        folder.mkdir()
        writer = EventWriter(str(folder / "events.jsonl"), progress_interval_s=0)
        writer.status("starting", "starting the worker")
        for number in range(attempt.lines):
            writer.log("info", f"line {number} \u2028 é")
        if attempt.finishes:
            writer.artifact("1-s/model.txt", 7)
            digest = hashlib.sha256(PREDICTIONS).hexdigest()
            writer.result(status="success", predictions_bytes=len(PREDICTIONS), predictions_sha256=digest)
        writer.close()
        return (folder / "events.jsonl").read_bytes().splitlines(keepends=True)

    # What goes by

    def run(self) -> tuple[dict[str, Any], float]:
        """See the worker to its end: its record, and how many seconds after SLURM's last word that was."""
        self.worker.start()
        self._pass()
        while self.worker.goes_on():
            self.clock.now += STEP_S
            self._pass()
        return self.worker.record(None), self.passed - self._attempts[-1].ends

    @property
    def passed(self) -> float:
        """Seconds since the submission."""
        return self.clock.now - self._began

    def _pass(self) -> None:
        for number, one in enumerate(self._attempts, 1):
            if self.passed >= one.begins:
                self._write(f"start-{number}", one, self.written[number - 1])
        self._said.write_text(f"7|{self._state()}\n")
        self._storage.show(self.clock.now)

    def _write(self, start: str, one: Start, lines: list[bytes]) -> None:
        done = min(1.0, (self.passed - one.begins) / (one.ends - one.begins))
        here = lines[: int(done * len(lines))]
        self._storage.write(self.clock.now, f"{start}/events.jsonl", b"".join(here))
        self._storage.write(self.clock.now, f"{start}/stderr.log", f"{start}\n".encode() * len(here))
        self._storage.write(self.clock.now, "slurm.out", f"--- {start} on n1 ---\n".encode())
        if one.finishes and done == 1.0:
            self._storage.write(self.clock.now, f"{start}/exit_code", b"0\n")
            self._storage.write(self.clock.now, f"{start}/predictions.jsonl", PREDICTIONS)
            self._storage.write(self.clock.now, f"{start}/artifacts/1-s/model.txt", b"a model")

    def _state(self) -> str:
        begun = [one for one in self._attempts if self.passed >= one.begins]
        if not begun:
            return "PENDING||Priority"
        if self.passed < begun[-1].ends:
            return "RUNNING|n1|None"
        return "COMPLETED|n1|None" if begun[-1] is self._attempts[-1] else "PENDING||BeginTime"

    def taken(self) -> list[bytes]:
        """The worker's own lines, as they go on to the server."""
        lines = (self.folder / "events.jsonl").read_bytes().splitlines(keepends=True)
        return [line for line in lines if not line.startswith(b'{"by":"agent",')]


def alike(path: str) -> float:
    """Everything is late by the same time."""
    return LAG_S


def events_last(path: str) -> float:
    """What tells of the end is there long before the events are."""
    return LAG_S if path.endswith("events.jsonl") else LAG_S / 3


def events_first(path: str) -> float:
    """The events are there long before what they are about."""
    return LAG_S / 3 if path.endswith("events.jsonl") else LAG_S


LAGS = pytest.mark.parametrize("lag", [alike, events_last, events_first], ids=lambda one: one.__name__)


@LAGS
def test_a_job_that_was_requeued_comes_out_whole_and_in_order(tmp_path: Path, lag: Callable[[str], float]) -> None:
    """remote 18: and slurm.out is truncated by it"""
    scene = Scene(tmp_path, [Start(5, 45, 60, finishes=False), Start(60, 120, 200)], lag)
    record, after = scene.run()
    assert record == {"exit_code": 0, "reason": None, "warnings": []}
    assert LAG_S - 2 <= after < LAG_S + SlurmTiming().settle
    first, second = scene.written
    taken = scene.taken()
    older = taken[: len(taken) - len(second)]
    assert taken[len(older) :] == second, "of the newest start everything, once and in order"
    assert older == first[: len(older)], "of the older one no more than it had shown, in order"
    if lag is alike:
        assert older == first
    assert (scene.folder / "predictions.jsonl").read_bytes() == PREDICTIONS
    assert (scene.folder / "artifacts/1-s/model.txt").read_bytes() == b"a model"


@LAGS
def test_a_job_that_was_over_before_anybody_saw_it_run_is_waited_for(
    tmp_path: Path, lag: Callable[[str], float]
) -> None:
    """remote 18: it took less than `poll_interval_s`, and not even its folder is to be seen"""
    scene = Scene(tmp_path, [Start(2, 4, 5)], lag)
    record, after = scene.run()
    assert record == {"exit_code": 0, "reason": None, "warnings": []}, read_lines(b"".join(scene.taken()))
    assert after >= LAG_S - 2
    assert scene.taken() == scene.written[0]


def test_storage_that_shows_nothing_for_longer_is_named(tmp_path: Path) -> None:
    """remote 18: what never came is an error in the end, and no guess"""
    scene = Scene(tmp_path, [Start(5, 65, 50)], lambda path: 400.0)
    record, after = scene.run()
    assert record["exit_code"] is None
    assert SlurmTiming().settle <= after < SlurmTiming().settle + 30
    (error,) = [event for event in events_of(scene) if event.name == "error"]
    assert error.fields["message"].startswith("SLURM job 7 ended before the worker finished: SLURM says COMPLETED, but")


def events_of(scene: Scene) -> list[Any]:
    """Every event that goes on to the server."""
    return list(read_lines((scene.folder / "events.jsonl").read_bytes())[0])


class Copier(threading.Thread):
    """Shows in `target` what the nodes write in `source`, by real seconds late."""

    def __init__(self, source: Path, target: Path) -> None:
        super().__init__(daemon=True)
        self._source = source
        self._storage = LaggingStorage(target, alike)
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(0.5):
            now = time.monotonic()
            for path in self._source.rglob("*"):
                if path.is_file() and not path.name.endswith(".part"):
                    self._storage.write(now, str(path.relative_to(self._source)), path.read_bytes())
            self._storage.show(now)

    def close(self) -> None:
        """End, and wait for it."""
        self._over.set()
        self.join()


@only_in_full
@pytest.mark.timeout(600)
def test_a_real_job_on_storage_that_lags_by_real_seconds(login: Login, cluster: Cluster) -> None:
    """remote 18: SLURM requeues it, too"""
    node = login.folder / "node"
    elsewhere = f'mkdir -p "{node}/start-$potato_number"; potato_start="{node}/start-$potato_number"'
    wait = '[ "$potato_number" = 1 ] && sleep 600; true'
    one = login.submit({"poll_interval_s": 10, "prelude": [elsewhere, wait]}, SlurmTiming())
    copier = Copier(node, one.folder)
    copier.start()
    try:
        one.says("RUNNING on")
        cluster.run("scontrol", "requeue", str(one.job_id()))
        done = node / "start-2" / "exit_code"
        while not done.exists():
            time.sleep(0.1)
        ended = time.monotonic()
        assert one.ended(300)["exit_code"] == 0, one.log()
        after = time.monotonic() - ended
    finally:
        copier.close()
    print(f"the whole of it was taken in {after:.0f} seconds after the job's end")
    assert LAG_S - 1 <= after < LAG_S + SlurmTiming().settle
    written = (node / "start-2" / "events.jsonl").read_bytes().splitlines(keepends=True)
    told = bytes(one.run.files["events.jsonl"]).splitlines(keepends=True)
    assert [line for line in told if not line.startswith(b'{"by":"agent",')] == written
