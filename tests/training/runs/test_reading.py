"""Reading a worker's events: all that matter, and quickly."""

from __future__ import annotations

import time
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from potato.training.contract.events import NAMES, Event, encode, read_lines
from potato.training.runs import reading
from potato.training.runs.journal import Outcome
from potato.training.runs.reading import is_training_point, read_events
from potato.training.runs.words import changes, log_lines

WORDS = st.sampled_from(
    ['train", "x', "train", "val", "split", '"split":"train"', '{"v":1,"event":"metric",', "", "ü\n"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.dictionaries(
    st.sampled_from(["split", "name", "value", "step", "msg", "device", "more"]), VALUES, max_size=6
)
EVENTS = st.builds(Event, st.sampled_from(NAMES), st.floats(0, 1e9), FIELDS)


def point(split: str = "train", **more: Any) -> Event:
    return Event("metric", 1.0, {**more, "split": split, "name": "loss", "value": 0.5, "step": 1})


@given(EVENTS)
@example(point(more={"split": "train"}, split="val"))
@example(point("val", more='"split":"train"'))
@example(Event("log", 1.0, {"msg": '{"v":1,"event":"metric","split":"train"}'}))
def test_what_is_left_out_changes_nothing(event: Event) -> None:
    if is_training_point(encode(event)[:-1]):
        outcome = Outcome()
        outcome.take([event])
        assert (changes([event]), log_lines(event), outcome) == ({}, [], Outcome())


@given(st.lists(EVENTS | st.just(point()), max_size=12), st.integers(1, 400), st.binary(max_size=30))
def test_slices_lose_and_double_nothing(events: list[Event], size: int, rest: bytes) -> None:
    data = b"".join(map(encode, events)) + rest
    before, reading.SLICE, reading.REST_S = reading.SLICE, size, 0.0
    try:
        read, taken = read_events(data)
    finally:
        reading.SLICE, reading.REST_S = before, 0.001
    whole, expected = read_lines(data)
    assert taken == expected
    assert read == [event for event in whole if not is_training_point(encode(event)[:-1])]


def test_training_points_cost_little() -> None:
    """Ten thousand a second must leave the pages their time."""
    data = b"".join(encode(point()) for _ in range(10_000))
    started = time.thread_time()
    assert read_events(data) == ([], len(data))
    cheap = time.thread_time() - started
    started = time.thread_time()
    read_lines(data)
    assert cheap < (time.thread_time() - started) / 3


def test_printed_lines_are_read_as_they_were_printed() -> None:
    printed = b'Metric {"split":"train"}\n{"split":"train"}\n\n  \n' + encode(point("val"))
    assert [event.name for event in read_events(printed)[0]] == ["log", "log", "metric"]
