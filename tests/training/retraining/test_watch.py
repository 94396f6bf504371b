"""Runs that start by themselves: counted from the answers' history, on an injected clock, over restarts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from lab import FAST, Lab, finished, use_fakes
from potato.store import Writer, tables
from potato.store.annotations import Save, save
from potato.store.rules import Rules
from potato.store.training import retraining
from potato.store.training import runs as rows
from potato.store.training.runs import State
from potato.store.users import ensure
from potato.tasks import TaskRunner
from potato.training.retraining.decision import look, waits
from potato.training.retraining.watch import Retraining
from potato.training.runs import open_supervisor
from potato.training.runs.notifier import Notifier
from potato.training.runs.request import RunRequest
from potato.training.runs.supervisor import Supervisor

AUTO = {"enabled": True, "trainer": "fake", "schemas": ["sentiment"], "update_frequency": 10, "min_interval_s": 600}
BEGIN = datetime(2026, 11, 29, 14, 0, tzinfo=timezone.utc)


class Scene:
    """A lab whose clock stands still until it is moved."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.now = BEGIN
        self.supervisor: Supervisor
        self.retraining: Retraining

    @contextmanager
    def serving(self, start: bool = False) -> Iterator[Scene]:
        """What a server has between two starts; nobody looks but the test. With `start`, runs are seen through."""
        writer, tasks = Writer(self.lab.database), TaskRunner(self.lab.project)
        writer.start()
        if start:
            tasks.start()
        clock: Callable[[], datetime] = lambda: self.now  # noqa: E731 - it is passed on
        self.supervisor = open_supervisor(
            self.lab.project, self.lab.database, writer, Notifier(), tasks, timing=FAST, clock=clock
        )
        if start:
            self.supervisor.start()
        self.retraining = Retraining(self.supervisor)
        try:
            yield self
        finally:
            if start:
                self.supervisor.close()
                tasks.close()
            writer.close()

    def answer(self, items: range, *, flip: bool = False, value: str | None = "", user: str = "ann") -> None:
        """Answer items, by turns positive and negative; `value` for all the same, None to take back."""
        with self.lab.database.write() as connection:
            who = ensure(connection, user, self.now)
            for n in items:
                said = ("positive", "negative")[(n + flip) % 2] if value == "" else value
                save(connection, Save(who, n + 1, {"sentiment": said}, self.now), Rules.of(self.lab.project))

    def waits(self) -> list[str]:
        with self.lab.database.read() as connection:
            situation = look(connection, self.lab.project, self.now)
        return [wait.sentence for wait in waits(self.lab.project.config.model_training.auto_retrain, situation)]

    def log(self) -> list[tuple[str, str]]:
        with self.lab.database.read() as connection:
            return [(each.kind, each.sentence) for each in reversed(retraining.decided(connection))]

    def end(self, run_id: str, state: State = State.ERROR) -> None:
        """Have a run end without running."""
        with self.lab.database.write() as connection:
            rows.transition(connection, run_id, State.BUILDING)
            rows.transition(connection, run_id, state, finished_at=rows.to_text(self.now))


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    use_fakes(monkeypatch)
    writeback = {"schemas": ["sentiment"], "include_unlabeled": True}
    return Scene(Lab(tmp_path / "lab", 120, model_training={"auto_retrain": AUTO, "writeback": writeback}))


def test_a_run_starts_by_itself_when_enough_has_come_and_not_before(scene: Scene) -> None:
    """annotation 56"""
    with scene.serving():
        assert scene.retraining.look() is None
        scene.answer(range(9))
        assert scene.waits() == ["waiting for 1 more annotation"]
        assert scene.retraining.look() is None
        scene.answer(range(9, 10))
        run = scene.retraining.look()
        assert run is not None
        assert (run.trigger, run.trainer, run.started_by) == ("auto", "fake", None)
        assert scene.retraining.look() is None  # one waits already
        scene.answer(range(10, 40))
        assert scene.waits() == ["a run waits in the queue"]
        assert len(scene.supervisor.list()) == 1
    assert [kind for kind, _ in scene.log()] == ["waiting", "started", "waiting"]
    assert f"10 annotations came in, and no run has trained on sentiment yet: run {run.run_id}" in scene.log()[1][1]


def test_changes_and_deletions_count_and_the_same_answer_changed_twice_counts_once(scene: Scene) -> None:
    """annotation 56"""
    with scene.serving():
        scene.answer(range(10))
        run = scene.retraining.look()
        assert run is not None
        scene.end(run.run_id)
        scene.now += timedelta(seconds=600)
        assert scene.waits() == ["waiting for 10 more annotations"]
        scene.answer(range(4), flip=True)
        scene.answer(range(4))
        assert scene.waits() == ["waiting for 6 more annotations"]
        scene.answer(range(4, 9), value=None)
        assert scene.waits() == ["waiting for 1 more annotation"]
        scene.answer(range(9, 10), flip=True)
        assert scene.waits() == []


def test_the_time_since_the_last_run_is_kept_over_a_restart(scene: Scene) -> None:
    """annotation 56: counted in the store alone, on a fast clock."""
    with scene.serving():
        scene.answer(range(10))
        run = scene.retraining.look()
        assert run is not None
        scene.end(run.run_id)
        scene.answer(range(10, 30))
    scene.now += timedelta(seconds=188)
    with scene.serving():
        assert scene.waits() == ["waiting 412 more seconds since the last run"]
        assert scene.retraining.look() is None
        scene.now += timedelta(seconds=411.5)
        assert scene.waits() == ["waiting 1 more second since the last run"]
        scene.now += timedelta(seconds=0.5)
        again = scene.retraining.look()
        assert again is not None
        assert f"since run {run.run_id}, which failed" in scene.log()[-1][1]


def test_what_was_labelled_while_a_run_waited_or_trained_counts_for_the_next(scene: Scene) -> None:
    with scene.serving(start=True):
        scene.answer(range(40))
        run = scene.retraining.look()
        assert run is not None
        ended = finished(scene.supervisor, run.run_id)
        assert ended.state is State.SUCCESS, ended.error
        assert ended.labels_upto == 40
        scene.answer(range(40, 44))
        scene.now += timedelta(seconds=600)
        assert scene.waits() == ["waiting for 6 more annotations"]


def test_a_run_that_a_person_starts_counts_as_the_last(scene: Scene) -> None:
    with scene.serving():
        scene.answer(range(30))
        run = scene.supervisor.submit(RunRequest("fake", ["sentiment"], trigger="manual"))
        scene.end(run.run_id, State.CANCELLED)
        assert scene.waits() == [
            "waiting for 10 more annotations",
            "waiting 600 more seconds since the last run",
        ]


@pytest.mark.parametrize("seconds", [0, 3600])
def test_labels_that_are_all_alike_are_refused_once_and_do_not_loop(scene: Scene, seconds: int) -> None:
    """annotation 40"""
    with scene.serving():
        scene.answer(range(10), value="positive")
        for _ in range(5):
            scene.now += timedelta(seconds=seconds)
            assert scene.retraining.look() is None
        assert scene.supervisor.list() == []
        assert [kind for kind, _ in scene.log()] == ["refused", "waiting"]
        assert "are 'positive', and at least 2 different ones are needed" in scene.log()[0][1]
        assert scene.waits() == ["waiting for 10 more annotations"]
        scene.answer(range(10, 20))
        assert scene.retraining.look() is not None


def test_somebody_who_is_quicker_leaves_only_one_run(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """annotation 56: at most one waits."""
    with scene.serving():
        scene.answer(range(20))
        submit = scene.supervisor.submit

        def late(request: Any, beside: Any = None) -> Any:
            submit(RunRequest("fake", ["sentiment"], trigger="manual"))
            return submit(request, beside)

        monkeypatch.setattr(scene.supervisor, "submit", late)
        assert scene.retraining.look() is None
        assert [run.trigger for run in scene.supervisor.list()] == ["manual"]


def test_a_new_name_of_a_label_is_no_change(scene: Scene) -> None:
    with scene.serving():
        scene.answer(range(10))
        with scene.lab.database.write() as connection:
            connection.execute(tables.annotation_history.update().values(source="rename"))
        assert scene.waits() == ["waiting for 10 more annotations"]


def test_the_log_is_bounded(scene: Scene) -> None:
    with scene.lab.database.write() as connection:
        for n in range(retraining.KEPT + 30):
            retraining.log(connection, retraining.Decision("2026-11-29T14:00:00.000Z", "waiting", f"line {n}", None))
    assert len(scene.log()) == retraining.KEPT
    assert scene.log()[-1][1] == f"line {retraining.KEPT + 29}"
