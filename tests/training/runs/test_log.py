"""What of a log was written before the server was killed is found again, however much that is."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from potato.training.runs.log import RunLog, _overlap

TEXT = st.text("ab\n", max_size=200).map(str.encode)


@given(TEXT, TEXT, st.integers(0, 200))
def test_the_longest_overlap_is_found(before: bytes, data: bytes, written: int) -> None:
    log = before + data[:written]
    sizes = range(min(len(log), len(data)), 0, -1)
    assert _overlap(log, data) == next((size for size in sizes if log.endswith(data[:size])), 0)


def test_a_long_piece_is_taken_back_and_nothing_else(tmp_path: Path) -> None:
    """Four megabytes; comparing every length of it would take minutes."""
    lines = [(1e9 + n, f"line {n}") for n in range(120_000)]
    log = RunLog(tmp_path / "run.log", lambda: datetime.now(timezone.utc))
    log.say("before")
    before = (tmp_path / "run.log").read_bytes()
    log.add(lines[:60_000])
    log.take_back(lines)
    assert (tmp_path / "run.log").read_bytes() == before
