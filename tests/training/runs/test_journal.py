"""Events are applied in one place, whole lines at a time, and exactly once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab import Lab
from potato.store import Writer
from potato.store.clock import utc_now
from potato.store.training import runs as rows
from potato.store.training.runs import Run, State
from potato.training.contract.events import Event, encode
from potato.training.runs import journal as module
from potato.training.runs.folder import RunFolder
from potato.training.runs.journal import Journal, notes
from potato.training.runs.log import RunLog
from potato.training.runs.notifier import Notifier
from potato.training.runs.records import Records

AT = "2026-11-29T14:15:00.000Z"

EVENTS = [
    Event("status", 1.0, {"state": "running", "step": "training on CPU", "device": "cpu"}),
    Event("progress", 2.0, {"phase": "fit", "current": 3, "total": 10, "eta_s": 4.5}),
    Event("log", 3.0, {"level": "warning", "msg": "a <b>bold</b> \x1b[31mred\x1b[0m ü line"}),
    Event("metric", 4.0, {"split": "val", "name": "loss", "value": 0.25, "step": 7}),
    Event("error", 5.0, {"code": "odd", "message": "it was odd", "install_hint": None}),
    Event("result", 6.0, {"status": "success", "metrics": {"s": {"f1": 1.0}}, "model_version": "v", "notes": ["hm"]}),
]


class Desk:
    """A run with a journal that is read, by one server process after another."""

    def __init__(self, lab: Lab, records: Records) -> None:
        self.lab, self.records = lab, records
        self.folder = RunFolder.of(lab.project, "r1")
        self.folder.path.mkdir(parents=True)
        run = Run("r1", State.RUNNING, "fake", ["sentiment"], {}, "api", "local", "local", AT)
        with lab.database.write() as connection:
            rows.add(connection, run)

    def open(self) -> Journal:
        return Journal(self.records, self.folder, "r1", RunLog(self.folder.log, utc_now))

    def write(self, data: bytes) -> None:
        with self.folder.events.open("ab") as file:
            file.write(data)

    def run(self) -> Run:
        return self.records.get("r1")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    lab = Lab(tmp_path / "lab", 1)
    writer = Writer(lab.database)
    writer.start()
    yield Desk(lab, Records(lab.database, writer, Notifier(), utc_now))
    writer.close()


def pull_all(journal: Journal) -> None:
    while journal.pull():
        pass


def test_what_events_say_reaches_the_row_the_log_and_the_outcome(desk: Desk) -> None:
    seen = desk.records.notifier.version("run:r1")
    desk.write(b"".join(map(encode, EVENTS)))
    journal = desk.open()
    assert journal.pull()
    assert not journal.pull()
    run = desk.run()
    assert run.device == "cpu"
    assert run.step == "training on CPU"
    assert run.progress == {"phase": "fit", "current": 3, "total": 10, "eta_s": 4.5}
    assert (run.metrics, run.model_version) == ({"s": {"f1": 1.0}}, "v")
    assert run.applied == desk.folder.events.stat().st_size
    assert journal.outcome.error is not None
    assert notes(journal.outcome) == ["hm"]
    assert desk.records.notifier.version("run:r1") > seen
    log = desk.folder.log.read_text("utf-8")
    assert "1970-01-01 00:00:03  warning: a <b>bold</b> red ü line\n" in log
    assert "val loss 0.25 (step 7)" in log


def test_a_half_written_line_waits_for_its_rest(desk: Desk) -> None:
    line = encode(EVENTS[0])
    desk.write(line[:20])
    journal = desk.open()
    assert not journal.pull()
    desk.write(line[20:])
    assert journal.pull()
    assert desk.run().step == "training on CPU"


def test_lines_that_are_no_events_are_log_lines(desk: Desk) -> None:
    desk.write(b'50%|#####     | 5/10\r60%\n\xff\xfe not utf-8\n{"v": 99}\n[]\n\n' + b"x" * 100 + b"\n")
    pull_all(desk.open())
    log = desk.folder.log.read_text("utf-8")
    assert "60%" in log
    assert '{"v": 99}' in log
    assert desk.run().step == ""


def test_values_of_any_type_do_no_harm(desk: Desk) -> None:
    odd = [
        Event("progress", 1.0, {"phase": ["x"], "current": "many", "total": None, "eta_s": float("nan")}),
        Event("status", 1.0, {"step": {"a": 1}, "device": 5}),
        Event("metric", 1.0, {"split": "val", "value": "high"}),
        Event("artifact", 1.0, {}),
        Event("result", 1.0, {"status": 7, "metrics": [1], "label_order": "x", "model_version": None, "notes": "x"}),
        Event("error", 1.0, {"message": None}),
    ]
    desk.write(b"".join(map(encode, odd)))
    journal = desk.open()
    pull_all(journal)
    run = desk.run()
    assert run.progress == {"phase": "['x']", "current": 0, "total": 0, "eta_s": None}
    assert (run.metrics, run.label_order, run.model_version) == ({}, None, None)
    assert notes(journal.outcome) == []


def test_a_line_without_end_does_not_stop_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 4096)
    monkeypatch.setattr(Journal._lines, "__defaults__", (4096,))
    desk.write(b"z" * 10_000 + b"\n" + encode(EVENTS[0]))
    pull_all(desk.open())
    assert desk.run().step == "training on CPU"


@pytest.mark.parametrize("seed", range(5))
def test_a_new_server_goes_on_exactly_where_the_last_was(desk: Desk, seed: int) -> None:
    """Whenever it was read, and by how many server processes: each event once, and nothing forgotten."""
    dice = random.Random(seed)
    lines = [encode(Event("log", 1.0 + n, {"level": "info", "msg": f"line {n} {'ü' * (n % 7)}"})) for n in range(200)]
    data = b"".join([*lines[:100], encode(EVENTS[4]), *lines[100:], encode(EVENTS[5])])
    journal = desk.open()
    while data:
        cut = dice.randrange(1, 400)
        desk.write(data[:cut])
        data = data[cut:]
        if dice.random() < 0.5:
            journal.pull()
        if dice.random() < 0.2:
            journal = desk.open()
    journal = desk.open()
    pull_all(journal)
    said = [
        line.split("  ", 1)[1].split()[1] for line in desk.folder.log.read_text("utf-8").splitlines() if "line" in line
    ]
    assert said == [str(n) for n in range(200)]
    assert journal.outcome.error is not None
    assert journal.outcome.result is not None
    assert desk.run().applied == desk.folder.events.stat().st_size


@pytest.mark.parametrize("torn", [0, 1, 30, 75])
def test_a_line_is_logged_once_though_the_server_was_killed_before_it_noted_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, torn: int
) -> None:
    lines = [encode(Event("log", 1.0 + n, {"level": "info", "msg": f"line {n} ü"})) for n in range(9)]
    desk.write(b"".join(lines[:4]))
    pull_all(desk.open())
    desk.write(b"".join(lines[4:7]))
    journal = desk.open()
    with monkeypatch.context() as killed, pytest.raises(KeyboardInterrupt):
        killed.setattr(desk.records, "write", _killed)
        journal.pull()
    log = desk.folder.log.read_bytes()
    desk.folder.log.write_bytes(log[: len(log) - torn])
    desk.write(b"".join(lines[7:]))
    pull_all(desk.open())
    said = [line[21:] for line in desk.folder.log.read_text("utf-8").splitlines()]
    assert said == [f"line {n} ü" for n in range(9)]


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_log_that_cannot_be_written_costs_the_log_alone(desk: Desk, make_unwritable: Callable[[Path], None]) -> None:
    make_unwritable(desk.folder.log)
    desk.write(b"".join(map(encode, EVENTS)))
    pull_all(desk.open())
    assert desk.run().step == "training on CPU"


@pytest.fixture
def make_unwritable() -> Callable[[Path], None]:
    """A folder where the file should be: opening it for writing fails, for root too."""
    return lambda path: path.mkdir()
