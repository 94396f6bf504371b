"""Reading a journal in pieces, and its metrics as curves."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from potato.training.contract.events import EventWriter
from potato.training.results import metric_curves
from potato.training.web.journal import CurveReader, as_json, read_piece


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def _metrics(path: Path, count: int, start: int = 0) -> None:
    writer = EventWriter(str(path))
    for step in range(start, start + count):
        writer.metric("train", "loss", 1.0 / (step + 1), step, scheme="sentiment")
    writer.close()


def test_an_absent_journal_has_no_events(path: Path) -> None:
    piece = read_piece(path, 0, 10)
    assert (piece.events, piece.next, piece.more) == ([], 0, False)


def test_offsets_lead_from_piece_to_piece_without_a_gap(path: Path) -> None:
    _metrics(path, 25)
    steps, after, more = [], 0, True
    while more:
        piece = read_piece(path, after, 10)
        steps += [event.fields["step"] for _, event in piece.events]
        assert piece.events[-1][0] == piece.next
        after, more = piece.next, piece.more
    assert steps == list(range(25))
    assert after == path.stat().st_size


def test_a_journal_longer_than_a_piece_says_that_more_lies_ready(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_curves, "PIECE", 300)
    _metrics(path, 25)
    piece = read_piece(path, 0, 1000)
    assert piece.more
    assert 0 < len(piece.events) < 25


def test_a_line_longer_than_a_piece_is_read_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_curves, "PIECE", 64)
    writer = EventWriter(str(path))
    writer.log("info", "x" * 1000)
    writer.close()
    [(offset, event)] = read_piece(path, 0, 10).events
    assert event.fields["msg"] == "x" * 1000
    assert offset == path.stat().st_size


def test_a_half_written_line_waits_for_its_rest(path: Path) -> None:
    _metrics(path, 1)
    whole = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"v":1,"event":"lo')
    piece = read_piece(path, 0, 10)
    assert len(piece.events) == 1
    assert (piece.next, piece.more) == (whole, False)


def test_an_events_own_fields_do_not_hide_its_offset(path: Path) -> None:
    path.write_bytes(b'{"v":1,"event":"log","t":1e999,"msg":"m","offset":"evil"}\n')
    [(offset, event)] = read_piece(path, 0, 10).events
    body = as_json(offset, event)
    assert body["offset"] == offset
    assert json.dumps(body, allow_nan=False)


def test_curves_hold_every_metric_and_the_offset_to_go_on_from(path: Path) -> None:
    _metrics(path, 3)
    curves, offset = CurveReader().read(path)
    assert curves == [
        {"scheme": "sentiment", "split": "train", "name": "loss", "points": [(0, 1.0), (1, 0.5), (2, 1 / 3)]}
    ]
    assert offset == path.stat().st_size


def test_curves_go_on_where_they_were(path: Path) -> None:
    reader = CurveReader()
    _metrics(path, 3)
    reader.read(path)
    _metrics(path, 2, start=3)
    [curve], offset = reader.read(path)
    assert [step for step, _ in curve["points"]] == [0, 1, 2, 3, 4]
    assert offset == path.stat().st_size


def test_a_long_curve_is_thinned_evenly_and_keeps_its_end(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metric_curves, "MAX_POINTS", 50)
    _metrics(path, 1000)
    [curve], _ = CurveReader().read(path)
    steps = [step for step, _ in curve["points"]]
    assert len(steps) <= 52
    assert (steps[0], steps[-1]) == (0, 999)
    gaps = {b - a for a, b in itertools.pairwise(steps[:-1])}
    assert len(gaps) == 1


def test_a_metric_whose_value_was_nan_leaves_a_gap(path: Path) -> None:
    writer = EventWriter(str(path))
    writer.metric("val", "loss", float("nan"), 1)
    writer.close()
    [curve], _ = CurveReader().read(path)
    assert curve["points"] == [(1, None)]


def test_a_metric_event_without_a_number_is_no_point(path: Path) -> None:
    path.write_bytes(b'{"v":1,"event":"metric","t":1,"split":"val","name":"f","value":"high","step":1}\n')
    assert CurveReader().read(path)[0] == []


def test_the_curves_of_an_ended_run_are_read_from_the_file_that_was_kept(path: Path) -> None:
    _metrics(path, 2000)
    wanted = CurveReader().read(path)
    metric_curves.keep(path.parent)
    _metrics(path, 3, start=2000)  # an agent's last words may come after
    journal = path.read_bytes()
    path.write_bytes(b"x" * (wanted[1] - 1) + b"\n" + journal[wanted[1] :])  # what was read is not read again
    [curve], offset = CurveReader().read(path)
    assert offset == len(journal)
    known = wanted[0][0]["points"][:-1]
    assert curve["points"][: len(known)] == known
    assert curve["points"][-1] == (2002, 1 / 2003)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"offset": 3}', '{"offset": 3, "series": [[1, 2]]}'])
def test_a_damaged_file_of_curves_is_passed_over(path: Path, damage: str) -> None:
    _metrics(path, 10)
    wanted = CurveReader().read(path)
    (path.parent / metric_curves.FILE).write_text(damage, "ascii")
    assert CurveReader().read(path) == wanted
