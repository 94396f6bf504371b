"""Files that arrive in pieces."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from potato.training.agents import answers
from potato.training.agents import intake as intakes
from potato.training.agents.bodies import Result
from potato.training.agents.claim import Claim, read_claim
from potato.training.agents.desk import AgentId, Assignment
from potato.training.agents.errors import Incomplete, OldAttempt, PredictionsTooLarge, UnknownFile, WrongOffset
from potato.training.agents.intake import Declared, Intake, begin_attempt


def declared(data: bytes) -> Declared:
    """What a sender says of a whole file."""
    return Declared(len(data), hashlib.sha256(data).hexdigest())


@pytest.fixture
def intake(tmp_path: Path) -> Intake:
    """A first attempt's files."""
    return Intake(tmp_path, begin_attempt(tmp_path), max_predictions_mb=1)


@pytest.mark.parametrize("seed", range(20))
def test_pieces_that_are_repeated_and_come_from_before_make_the_same_file(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    intake = Intake(tmp_path, begin_attempt(tmp_path), 1)
    data = bytes(chance.randrange(256) for _ in range(5000))
    held = 0
    while held < len(data):
        start = chance.randint(0, held)
        piece = data[start : start + chance.randint(1, 900)]
        held = intake.append("events.jsonl", start, piece)
        assert intake.append("events.jsonl", start, piece) == held, "a piece that comes twice changes nothing"
    intake.finish({"events.jsonl": declared(data)})
    assert (tmp_path / "events.jsonl").read_bytes() == data


def test_a_file_that_came_whole_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what came to an earlier server process is."""
    read: list[Path] = []
    digest = intakes._digest
    monkeypatch.setattr(intakes, "_digest", lambda path, start: (read.append(path), digest(path, start))[1])
    bases = begin_attempt(tmp_path)
    first = Intake(tmp_path, bases, 1)
    for start in range(0, 6, 2):
        first.append("events.jsonl", start, b"abcdef"[start : start + 2])
    first.finish({"events.jsonl": declared(b"abcdef")})
    assert read == []
    later = Intake(tmp_path, bases, 1)
    later.append("events.jsonl", 6, b"g")
    later.finish({"events.jsonl": declared(b"abcdefg")})
    assert read == [tmp_path / "events.jsonl"]
    with pytest.raises(Incomplete):
        later.finish({"events.jsonl": declared(b"abcdefx")})
    later.append("events.jsonl", 0, b"abcdefx")
    later.finish({"events.jsonl": declared(b"abcdefx")})
    assert len(read) == 2


def test_a_piece_past_the_end_is_refused_with_the_length(intake: Intake) -> None:
    intake.append("events.jsonl", 0, b"abc")
    with pytest.raises(WrongOffset) as caught:
        intake.append("events.jsonl", 4, b"e")
    assert caught.value.as_json()["length"] == 3


@pytest.mark.parametrize("name", ["", "..", "../x", "spec.json", "run.log", "events.jsonl/", "predictions.jsonl.part"])
def test_only_known_files_are_taken(intake: Intake, name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownFile):
        intake.append(name, 0, b"x")
    assert list(tmp_path.iterdir()) == []


def test_predictions_appear_whole_or_not_at_all(intake: Intake, tmp_path: Path) -> None:
    data = b'{"a": 1}\n' * 50
    intake.append("predictions.jsonl", 0, data[:100])
    with pytest.raises(Incomplete) as caught:
        intake.finish({"predictions.jsonl": declared(data)})
    assert caught.value.held["predictions.jsonl"] == 100
    assert not (tmp_path / "predictions.jsonl").exists()
    intake.append("predictions.jsonl", 100, data[100:])
    for _ in range(2):  # the answer to the first may have been lost
        intake.finish({"predictions.jsonl": declared(data)})
    assert (tmp_path / "predictions.jsonl").read_bytes() == data


def test_a_file_whose_bytes_differ_is_begun_anew(intake: Intake) -> None:
    intake.append("predictions.jsonl", 0, b"damaged!")
    with pytest.raises(Incomplete) as caught:
        intake.finish({"predictions.jsonl": declared(b"as sent.")})
    assert caught.value.held["predictions.jsonl"] == 0


def test_too_large_predictions_are_refused_before_they_fill_the_disk(intake: Intake) -> None:
    intake.append("predictions.jsonl", 0, b"x" * 1_000_000)
    with pytest.raises(PredictionsTooLarge, match="max_predictions_mb"):
        intake.append("predictions.jsonl", 1_000_000, b"x")


def test_an_attempt_that_is_closed_writes_nothing_any_more(intake: Intake, tmp_path: Path) -> None:
    """A request of it may have been let in just before."""
    intake.append("events.jsonl", 0, b"old\n")
    intake.close(OldAttempt("r", 1, 2))
    second = Intake(tmp_path, begin_attempt(tmp_path), 1)
    second.append("events.jsonl", 0, b"new\n")
    happened: list[str] = []
    for late in (
        lambda: intake.append("events.jsonl", 4, b"late\n"),
        lambda: intake.append("predictions.jsonl", 0, b"late\n"),
        lambda: intake.finish({}, then=lambda: happened.append("finished")),
    ):
        with pytest.raises(OldAttempt):
            late()
    assert (tmp_path / "events.jsonl").read_bytes() == b"old\nnew\n" and happened == []
    assert not (tmp_path / "predictions.jsonl.part").exists()


def test_end_records_that_come_at_once_are_one(intake: Intake, tmp_path: Path) -> None:
    """A request that something on the way repeats before it was answered."""
    claim = Claim(AgentId("there", "/work", "0123456789"), 1, {})
    assignment = Assignment("r", "lab", claim.agent, 1, intake)
    written: list[Any] = []

    def durably(record: Mapping[str, Any]) -> None:
        written.append(record)
        replace(claim, result=record).write(tmp_path)

    assignment.on_result = durably
    bodies = [Result(attempt=1, exit_code=number) for number in range(8)]
    with ThreadPoolExecutor(len(bodies)) as threads:
        assert list(threads.map(lambda body: answers.result(assignment, body), bodies)) == [{"taken": True}] * 8
    assert len(written) == 1
    kept = read_claim(tmp_path)
    assert kept is not None and kept.result == assignment.result == written[0]


def test_a_new_attempt_follows_the_old_one_with_its_torn_line_closed(intake: Intake, tmp_path: Path) -> None:
    intake.append("events.jsonl", 0, b'{"one": 1}\n{"to')
    intake.append("predictions.jsonl", 0, b"old")
    second = Intake(tmp_path, begin_attempt(tmp_path), 1)
    assert set(second.held().values()) == {0}
    second.append("events.jsonl", 0, b'{"two": 2}\n')
    assert (tmp_path / "events.jsonl").read_bytes() == b'{"one": 1}\n{"to\n{"two": 2}\n'
    second.finish({"events.jsonl": declared(b'{"two": 2}\n')})
