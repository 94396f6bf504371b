"""How long a queued run has waited for an agent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_scene import agent_lab
from lab import Lab
from potato.store import Writer
from potato.store.training import runs
from potato.store.training.runs import State
from potato.training.agents.desk import Desk
from potato.training.runs.notifier import Notifier
from potato.training.runs.records import Records
from potato.training.runs.waiting import WaitForAgents
from training_scenes import run


class Clock:
    """Seconds that pass when told."""

    now = 50.0

    def __call__(self) -> float:
        return self.now


class Waiting:
    """The count of one server process, looked at as its supervisor does."""

    def __init__(self, lab: Lab, records: Records) -> None:
        self.clock = Clock()
        self._records = records
        self._counted = WaitForAgents(lab.project, Desk(), records, self.clock)

    def look(self, after: float = 0.0) -> list[str]:
        """The ids of the runs that have waited too long, `after` more seconds."""
        self.clock.now += after
        return [found.run_id for found, _ in self._counted.too_long(self._records.read(runs.queue))]

    def something_goes(self) -> None:
        self._counted.stop()


@pytest.fixture
def server(tmp_path: Path) -> Any:
    """Starts server processes of a lab in which one run has waited for nobody yet; `queue_timeout_s` is 3600."""
    lab = agent_lab(tmp_path / "lab", queue_timeout_s=3600)
    waits = run(1, State.QUEUED, backend="lab-workstation", backend_type="agent")
    writer = Writer(lab.database)
    writer.start()
    records = Records(lab.database, writer, Notifier(), lambda: None)  # type: ignore[arg-type, return-value]
    writer.call(lambda connection: runs.add(connection, waits))
    yield lambda: Waiting(lab, records)
    writer.close()


def test_a_run_that_nobody_asked_for_ends(server: Callable[[], Waiting]) -> None:
    waiting = server()
    assert waiting.look() == waiting.look(3599) == []
    assert len(waiting.look(1)) == 1


def test_time_in_which_another_run_goes_does_not_count(server: Callable[[], Waiting]) -> None:
    waiting = server()
    assert waiting.look() == waiting.look(3000) == []
    waiting.something_goes()
    assert waiting.look(9000) == waiting.look(599) == []
    assert len(waiting.look(1)) == 1


def test_a_server_that_is_started_again_goes_on_counting(server: Callable[[], Waiting]) -> None:
    """However often, and however long it was down; the last seconds before a kill may be lost."""
    for _ in range(3):
        waiting = server()
        assert waiting.look() == []
        for _ in range(100):
            assert waiting.look(10) == []
    waiting = server()
    assert waiting.look() == waiting.look(590) == []
    assert len(waiting.look(10)) == 1


def test_nothing_is_written_for_each_look(server: Callable[[], Waiting], monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Any] = []
    monkeypatch.setattr(Records, "put_fact", lambda self, name, value: written.append(value))
    waiting = server()
    for _ in range(100):
        waiting.look(1)
    assert 5 <= len(written) <= 10
