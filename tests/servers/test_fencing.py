"""A server that was stalled while another was elected wakes up: whatever it was at, it spoils nothing of the other."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lab import FAST, Lab, use_fakes, wait_for
from potato.errors import PotatoError
from potato.project.backends import SshBackend
from potato.servers.orphans import Orphans
from potato.store import Database, Writer, facts
from potato.store.clock import utc_now
from potato.store.election import FACT, Fence, Office, OutOfOffice, check
from potato.store.training.runs import Run, State
from potato.training.agents.claim import Claim
from potato.training.agents.desk import AgentId
from potato.training.agents.intake import Intake, begin_attempt
from potato.training.backends.base import Ended, Job
from potato.training.backends.local import LocalBackend
from potato.training.backends.remote import SshExecution
from potato.training.bundle.build import build
from potato.training.contract.files import write_json
from potato.training.runs.course import Course
from potato.training.runs.folder import RunFolder
from potato.training.runs.jobs import job_of
from potato.training.runs.notifier import Notifier
from potato.training.runs.pulse import Pulse
from potato.training.runs.records import Records
from potato.training.ssh.timing import SshTiming
from potato.training.trainers import registry
from potato.training.worker import launch

RUN = "20300101T000000-aaaaaa"
ELSEWHERE = "0" * 32
"""The boot of another machine."""


class Lost(PotatoError):
    """A backend has lost its worker."""

    code = "lost"
    status = 500


class Stalled:
    """A lab with one run, in the hands of the server that was elected first."""

    def __init__(self, folder: Path) -> None:
        self.lab = Lab(folder)
        self.lab.label_alternately()
        self.writer = Writer(self.lab.database)
        self.writer.start()
        self._elect(1)
        self.records = Records(self.lab.database, Fence(self.writer, 1), Notifier(), utc_now, epoch=1)
        self.folder = RunFolder.of(self.lab.project, RUN)
        self.records.add(
            Run(RUN, State.QUEUED, "fake", ["sentiment"], {}, "page", "local", "local", "2030-01-01T00:00:00Z")
        )
        self.folder.path.mkdir(parents=True)

    def depose(self) -> None:
        """What happens while it is stalled: another is elected."""
        self._elect(2)

    def _elect(self, epoch: int) -> None:
        with self.lab.database.write() as connection:
            facts.put(connection, FACT, asdict(Office(epoch, "127.0.0.1:1", "there", "2030-01-01T00:00:00Z")))

    @property
    def job(self) -> Job:
        """The run as its backend gets it."""
        settings = self.lab.project.config.model_training
        return job_of(self.lab.run(RUN), settings, self.folder, self.records, lambda line: None)

    def follow(self, tasks: Any, backend: Any = None) -> None:
        """See the run through as far as it can be."""
        Course(self.lab.run(RUN), self.lab.project, self.records, tasks, lambda name: backend, FAST, Pulse()).follow()

    def run_is(self, *states: State) -> None:
        """Bring the run there."""
        for state in states:
            self.records.transition(RUN, state, attempt=1)


@pytest.fixture
def stalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stalled]:
    use_fakes(monkeypatch)
    made = Stalled(tmp_path / "lab")
    yield made
    made.writer.close()


class Worker:
    """An execution that tells of nothing but its loss, once `meanwhile` has happened."""

    host, lingers, delivered = "here", False, False

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self._meanwhile = meanwhile
        self.done: list[str] = []

    def resume(self, job: Job) -> Worker:
        return self

    def poll(self) -> Ended | None:
        self._meanwhile()
        raise Lost("nothing was heard of it for an hour")

    def stop(self) -> None:
        self.done.append("stop")

    def kill(self) -> None:
        self.done.append("kill")

    def close(self) -> None:
        self.done.append("close")


def test_a_worker_that_seems_lost_is_the_others_to_end(stalled: Stalled) -> None:
    stalled.run_is(State.BUILDING, State.RUNNING)
    worker = Worker(stalled.depose)
    with pytest.raises(OutOfOffice):
        stalled.follow(None, worker)
    assert worker.done == ["close"]
    assert stalled.lab.run(RUN).state is State.RUNNING
    assert "failed" not in stalled.folder.log.read_text("utf-8")


def test_what_fails_because_of_the_other_is_no_end_of_the_run(stalled: Stalled) -> None:
    def run(name: str, args: dict[str, Any]) -> Future[Any]:
        stalled.depose()
        answer: Future[Any] = Future()
        answer.set_exception(Lost("the bundle went while it was built"))
        return answer

    with pytest.raises(OutOfOffice):
        stalled.follow(SimpleNamespace(run=run))
    assert stalled.lab.run(RUN).state is State.BUILDING
    assert "failed" not in stalled.folder.log.read_text("utf-8")


def test_a_bundle_of_the_others_stays_where_a_worker_reads_it(stalled: Stalled) -> None:
    lab, info = stalled.lab, registry.get("fake").info
    guarded = Database(lab.project.database_url, functools.partial(check, epoch=1))
    build(guarded, lab.project, info, ["sentiment"], stalled.folder.bundle)
    before = sorted((path, path.stat().st_ino) for path in stalled.folder.bundle.rglob("*"))
    stalled.depose()
    with pytest.raises(OutOfOffice):
        build(guarded, lab.project, info, ["sentiment"], stalled.folder.bundle)
    assert sorted((path, path.stat().st_ino) for path in stalled.folder.bundle.rglob("*")) == before
    assert list(stalled.folder.path.iterdir()) == [stalled.folder.bundle]
    guarded.close()


def test_no_second_worker_begins_in_the_folder(stalled: Stalled) -> None:
    build(stalled.lab.database, stalled.lab.project, registry.get("fake").info, ["sentiment"], stalled.folder.bundle)
    stalled.depose()
    with pytest.raises(OutOfOffice):
        LocalBackend(stalled.lab.project).start(stalled.job)
    assert launch.read(str(stalled.folder.path)) is None
    wait_for(lambda: not launch.find_marked(RUN))
    assert not stalled.folder.events.exists()


@pytest.mark.parametrize("which", ["stalled", "other"])
def test_of_two_that_start_a_worker_at_once_one_does(
    stalled: Stalled, monkeypatch: pytest.MonkeyPatch, which: str
) -> None:
    """One is stalled as it notes its worker, when it has been asked whether it may; the other starts one meanwhile."""
    build(stalled.lab.database, stalled.lab.project, registry.get("fake").info, ["sentiment"], stalled.folder.bundle)
    stalled.run_is(State.BUILDING, State.RUNNING)
    backend = LocalBackend(stalled.lab.project)
    others: list[Any] = []
    write = launch.write_new

    def noted_late(path: str, data: bytes) -> None:
        monkeypatch.setattr(launch, "write_new", write)
        others.append(backend.start(replace(stalled.job, make_sure=lambda: None)))
        if which == "stalled":
            stalled.depose()
        write(path, data)

    monkeypatch.setattr(launch, "write_new", noted_late)
    if which == "stalled":
        with pytest.raises(OutOfOffice):
            backend.start(stalled.job)
    else:
        assert backend.start(stalled.job)._worker == others[0]._worker
    wait_for(lambda: others[0].poll() is not None)
    assert others[0].poll().code == 0
    assert stalled.folder.events.read_bytes().count(b'"state":"starting"') == 1
    assert launch.find_marked(RUN) == []


def test_a_host_is_left_to_the_other(stalled: Stalled) -> None:
    """It neither logs in again, where it would end the other's connection, nor ends what is left of the run there."""
    agent = AgentId("there", "/home/ada", "s")
    Claim(agent, 1, begin_attempt(stalled.folder.path)).write(stalled.folder.path)
    opened: list[Any] = []

    class Session:
        def __enter__(self) -> Session:
            return self

        def __exit__(self, *_: Any) -> None:
            return None

        def end(self) -> None:
            return None

    way = SimpleNamespace(
        name="host",
        timing=SshTiming(clean_up=1.0),
        settings=SshBackend(type="ssh", host="host"),
        new_session=lambda heard, limit_s=None: Session(),
        open=lambda session, notes: opened.append(session),
    )
    stalled.depose()
    packed: Future[Any] = Future()
    execution = SshExecution(way, stalled.job, packed, 10, Claim(agent, 1, {}))
    execution.join(60)
    assert not execution.is_working
    with pytest.raises(OutOfOffice):
        execution.poll()
    assert opened == []


def test_a_piece_that_both_take_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bases = begin_attempt(tmp_path)
    stalled, other = Intake(tmp_path, bases, 10), Intake(tmp_path, bases, 10)
    held = stalled._held

    def held_before_it_was_stalled(name: str) -> int:
        found = held(name)
        other.append(name, 0, b"one\ntwo\n")
        return found

    monkeypatch.setattr(stalled, "_held", held_before_it_was_stalled)
    assert stalled.append("events.jsonl", 0, b"one\n") == 4
    assert (tmp_path / "events.jsonl").read_bytes() == b"one\ntwo\n"


def test_a_worker_left_on_another_machine_ends_the_run_with_its_name(stalled: Stalled) -> None:
    stalled.run_is(State.BUILDING, State.RUNNING)
    stalled.records.amend(RUN, host="lab-2")
    note = {"pid": os.getpid(), "started": "1", "boot_id": ELSEWHERE, "run_id": RUN}
    write_json(str(stalled.folder.path / "worker.json"), note)
    stalled.follow(None, LocalBackend(stalled.lab.project))
    run = stalled.lab.run(RUN)
    assert run.state is State.ERROR and run.error is not None
    assert (run.error["code"], run.host) == ("interrupted", "lab-2")
    assert run.error["message"].startswith("the run was going on lab-2, and")


def test_a_worker_whose_run_another_machine_has_ended_is_ended_here(stalled: Stalled) -> None:
    build(stalled.lab.database, stalled.lab.project, registry.get("fake").info, ["sentiment"], stalled.folder.bundle)
    stalled.run_is(State.BUILDING, State.RUNNING)
    LocalBackend(stalled.lab.project)._spec(stalled.job).write(str(stalled.folder.spec))
    env = {**os.environ, "POTATO_FAKES_WAIT": str(stalled.folder.path / "never")}
    worker = launch.start(sys.executable, str(stalled.folder.spec), str(stalled.folder.path), env)
    orphans = Orphans(stalled.lab.project, stalled.lab.database)
    orphans.find()
    orphans.end()
    assert launch.alive(worker)  # its run is going, whoever follows it
    stalled.run_is(State.ERROR)
    orphans.end()
    assert launch.find_marked(RUN) == []
    assert worker.child is not None
    worker.child.wait(60)
