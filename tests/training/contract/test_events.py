"""The event stream: whole lines, whatever a library prints between them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from potato.training.contract.events import MAX_LINE, Event, EventWriter, decode, encode, read_lines


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def written(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "events.jsonl").read_bytes().splitlines()]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def writer(tmp_path: Path, clock: Clock) -> EventWriter:
    return EventWriter(str(tmp_path / "events.jsonl"), clock, timer=clock)


def test_every_event_is_a_line_with_version_name_and_time(writer: EventWriter, tmp_path: Path) -> None:
    writer.status("running", "training", device="cpu")
    writer.metric("val", "accuracy", 0.5, 3, epoch=1, scheme="s")
    writer.log("warning", "mind this")
    writer.artifact("1-s/model.skops", 12)
    writer.error("package_missing", "no peft", "pip install peft")
    writer.result(status="success", n_predictions=2)
    writer.close()
    assert written(tmp_path) == [
        {"v": 1, "event": "status", "t": 1000.0, "state": "running", "step": "training", "device": "cpu"},
        {"v": 1, "event": "metric", "t": 1000.0, "split": "val", "name": "accuracy", "value": 0.5, "step": 3}
        | {"epoch": 1, "scheme": "s"},
        {"v": 1, "event": "log", "t": 1000.0, "level": "warning", "msg": "mind this"},
        {"v": 1, "event": "artifact", "t": 1000.0, "path": "1-s/model.skops", "bytes": 12},
        {"v": 1, "event": "error", "t": 1000.0, "code": "package_missing", "message": "no peft"}
        | {"install_hint": "pip install peft"},
        {"v": 1, "event": "result", "t": 1000.0, "status": "success", "n_predictions": 2},
    ]


def test_a_clock_that_is_set_back_does_not_silence_progress(clock: Clock, tmp_path: Path) -> None:
    """remote 40"""
    timer = Clock()
    writer = EventWriter(str(tmp_path / "events.jsonl"), clock, timer=timer)
    for current in range(4):
        writer.progress("fit", current, 10)
        timer.now += 1
        clock.now -= 86400
    found = written(tmp_path)
    assert [(event["current"], event["eta_s"]) for event in found] == [(0, None), (1, 9.0), (2, 8.0), (3, 7.0)]


def test_progress_is_throttled_but_first_and_last_are_always_there(
    writer: EventWriter, clock: Clock, tmp_path: Path
) -> None:
    for current in range(101):
        writer.progress("training", current, 100)
        clock.now += 0.1
    events = written(tmp_path)
    assert [event["current"] for event in events] == [0, *range(5, 101, 5)]


def test_remaining_time_is_estimated_from_the_phase_so_far(writer: EventWriter, clock: Clock, tmp_path: Path) -> None:
    writer.progress("training", 0, 10)
    clock.now += 4
    writer.progress("training", 2, 10)
    writer.progress("predicting", 0, 10)
    assert [event["eta_s"] for event in written(tmp_path)] == [None, 16.0, None]


def test_events_of_many_threads_never_mix(writer: EventWriter, tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: writer.log("info", "x" * 5000 + str(number)), range(200)))
    assert sorted(event["msg"] for event in written(tmp_path)) == sorted("x" * 5000 + str(n) for n in range(200))


def test_nan_and_infinities_never_make_a_line_unreadable(writer: EventWriter, tmp_path: Path) -> None:
    writer.metric("train", "loss", float("nan"), 1, more=[float("inf"), {"x": float("-inf")}])
    line = (tmp_path / "events.jsonl").read_bytes()
    record = json.loads(line, parse_constant=lambda name: pytest.fail(name))
    assert (record["value"], record["more"]) == (None, [None, {"x": None}])


def test_an_event_that_is_too_long_is_cut_to_a_log_line(writer: EventWriter, tmp_path: Path) -> None:
    writer.log("info", "y" * (MAX_LINE + 10))
    writer.log("info", "next")
    first, second = written(tmp_path)
    assert first["event"] == "log"
    assert "was cut" in str(first["msg"])
    assert second["msg"] == "next"
    assert (tmp_path / "events.jsonl").stat().st_size < 10_000


def test_a_half_written_last_line_waits_for_its_rest() -> None:
    whole = encode(Event("log", 1.0, {"level": "info", "msg": "é"}))
    for cut in range(1, len(whole)):
        assert read_lines(whole + whole[:cut]) == ([Event("log", 1.0, {"level": "info", "msg": "é"})], len(whole))
    assert read_lines(whole[:-1]) == ([], 0)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"Epoch 1:  10%\rEpoch 1:  50%\rEpoch 1: 100%", "Epoch 1: 100%"),
        (b" 10%\r100%\r", "100%"),
        (b'{"event": "status"}', '{"event": "status"}'),
        (b'{"v": 2, "event": "log"}', '{"v": 2, "event": "log"}'),
        (b'{"v": 1, "event": "reboot"}', '{"v": 1, "event": "reboot"}'),
        (b'{"v": 1, "event": ["log"]}', '{"v": 1, "event": ["log"]}'),
        (b'{"v": 1, "event": "log", "t": "soon"}', '{"v": 1, "event": "log", "t": "soon"}'),
        (b"[1, 2]", "[1, 2]"),
        (b"\xff\xfe broken", "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} broken"),
        (b"[" * 100_000, "[" * 100_000),
    ],
)
def test_a_line_that_is_no_event_is_a_log_line(line: bytes, shown: str) -> None:
    assert decode(line) == Event("log", 0.0, {"level": "info", "msg": shown})


def test_empty_lines_are_nothing() -> None:
    assert read_lines(b"\n  \n\r\n") == ([], 6)


def test_lines_are_split_at_newlines_only() -> None:
    text = "one\u2028two\u0085three\x0cfour"
    assert read_lines((text + "\n").encode()) == ([Event("log", 0.0, {"level": "info", "msg": text})], 22)


def test_half_a_character_does_not_get_through() -> None:
    line = b'{"v": 1, "event": "log", "t": 1, "level": "info", "msg": "a\\ud800b"}'
    assert decode(line).fields["msg"] == "a?b"


@given(st.binary())
def test_no_bytes_break_the_reader(data: bytes) -> None:
    events, taken = read_lines(data)
    assert taken == data.rfind(b"\n") + 1
    for event in events:
        json.dumps(event.fields, allow_nan=False).encode()


@given(st.text(), st.floats(), st.dictionaries(st.text(), st.one_of(st.floats(), st.text(), st.none())))
def test_what_is_written_is_read_as_one_event(msg: str, number: float, more: dict[str, object]) -> None:
    event = Event("log", 5.0, {"msg": msg, "number": number, "more": more})
    (read,), taken = read_lines(encode(event))
    assert read.name == "log"
    assert taken == len(encode(event))
    assert read.fields["msg"] == msg.encode("utf-8", "replace").decode()
