"""What can be undone, from the history."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import site_scenes as scenes
from potato.store import Database, users
from potato.store.annotations import Save, save
from potato.store.rules import Rules
from potato.store.steps import UNDO, steps

START = datetime(2026, 11, 29, 12, tzinfo=timezone.utc)


class Hand:
    """One annotator, who answers item 1 with two questions: `rude`, and `why` where it is rude."""

    def __init__(self, folder: Path) -> None:
        rude = {**scenes.SENTIMENT, "name": "rude", "labels": ["yes", "no"]}
        why = {"annotation_type": "text", "name": "why", "description": "Why?", "show_if": {"rude": "yes"}}
        project = scenes.project(folder, annotation_schemes=[rude, why])
        self._rules = Rules.of(project)
        self._database = Database(project.database_url)
        self._at = START
        with self._database.write() as conn:
            self._user = users.ensure(conn, "ann", START)

    def says(self, answers: dict[str, Any], source: str = "page", request: str | None = None) -> None:
        self._at += timedelta(seconds=1)
        given = Save(self._user, 1, answers, self._at, request or f"request-{self._at:%S}", source=source)
        with self._database.write() as conn:
            save(conn, given, self._rules)

    @property
    def steps(self) -> list[dict[str, Any]]:
        with self._database.read() as conn:
            return [dict(step) for step in steps(conn, self._user, 1)]

    def close(self) -> None:
        self._database.close()


@pytest.fixture
def hand(tmp_path: Path) -> Iterator[Hand]:
    made = Hand(tmp_path)
    yield made
    made.close()


def test_each_save_is_a_step_back_to_what_was_there(hand: Hand) -> None:
    """annotation 64"""
    hand.says({"rude": "no"})
    hand.says({"rude": "yes"})
    hand.says({"rude": None})  # clearing is a step as well
    assert hand.steps == [{"rude": None}, {"rude": "no"}, {"rude": "yes"}]


def test_an_undo_takes_its_step_away_and_is_none_itself(hand: Hand) -> None:
    hand.says({"rude": "no"})
    hand.says({"rude": "yes"})
    hand.says({"rude": "no"}, UNDO)
    assert hand.steps == [{"rude": None}]
    hand.says({"rude": None}, UNDO)
    assert hand.steps == []
    hand.says({"rude": "yes"})
    assert hand.steps == [{"rude": None}]


def test_two_undos_that_arrive_as_one_take_two_steps_away(hand: Hand) -> None:
    for answer in ("no", "yes", "no"):
        hand.says({"rude": answer})
    hand.says({"rude": "no", "why": None}, UNDO)
    assert hand.steps == [{"rude": None}]


def test_an_undo_to_what_never_arrived_by_itself_leaves_the_step_to_what_was_before(hand: Hand) -> None:
    """While the network was away, `yes` and a clearing were joined into one save."""
    hand.says({"rude": "no"})
    hand.says({"rude": None})
    hand.says({"rude": "yes"}, UNDO)
    assert hand.steps == [{"rude": None}, {"rude": "no"}]


def test_an_answer_that_went_with_its_question_comes_back_in_the_same_step(hand: Hand) -> None:
    hand.says({"rude": "yes"})
    hand.says({"why": "so"})
    hand.says({"rude": "no"})  # nobody is asked why now
    assert hand.steps[-1] == {"rude": "yes", "why": "so"}


def test_a_save_that_says_nothing_new_is_no_step(hand: Hand) -> None:
    hand.says({"rude": "yes"})
    hand.says({"rude": "yes"})
    hand.says({"rude": "yes"}, request="request-01")  # the first one again
    assert hand.steps == [{"rude": None}]
