"""Handing out what the newest live model is least sure of."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

import training_scenes as scenes
from makers import NOW, Small, later, small
from potato.store import Connection, Writer, assignments, tables, users
from potato.store.assignments import NothingLeft
from potato.store.clock import to_text
from potato.store.rules import Rules
from potato.store.training import predictions, rankings
from potato.store.training.predictions import Stored
from potato.training.results import ranking

POSITIVE = {"sentiment": "positive"}
UNSURE = {"assignment_strategy": "uncertainty", "uncertainty_random_share": 0.0}


def show(project: Small, number: int, sure: Mapping[int, float | None], gates: Mapping[int, str] | None = None) -> str:
    """A live run that was so sure of these items; its id."""
    run = scenes.succeeded(number)
    of = gates or {}
    with project.database.write() as conn:
        scenes.add(conn, run)
        rows = [Stored(item, "sentiment", "positive", value, None, of.get(item)) for item, value in sure.items()]
        predictions.add(conn, run.run_id, rows)
        predictions.set_live(conn, run.run_id, ["sentiment"], to_text(later(number)))
    ranking.keep(project.project, project.database)
    return run.run_id


def drain(project: Small, user: int, at: Any = NOW) -> list[int]:
    given = []
    while not isinstance(item := project.next(user, at), NothingLeft):
        project.save(user, item, POSITIVE, at)
        given.append(item)
    return given


def test_the_least_sure_come_first_then_the_rest(tmp_path: Path) -> None:
    with small(tmp_path, 8, **UNSURE) as project:
        project.rules = Rules(project.project.schemes, strategy="uncertainty", random_share=0.0, random=Random(3))
        show(project, 1, {2: 0.9, 3: 0.51, 5: 0.7, 6: 0.51, 8: None})
        given = drain(project, project.user("ann"))
        assert given[:4] == [3, 6, 5, 2]
        assert sorted(given) == list(range(1, 9))


def test_what_is_held_out_comes_at_random_alone_and_what_is_hidden_or_unsure_is_ranked(tmp_path: Path) -> None:
    """So that held-out items stay representative of the whole."""
    with small(tmp_path, 6, **UNSURE) as project:
        run_id = show(
            project,
            1,
            {1: 0.2, 2: 0.3, 3: 0.4, 4: 0.5, 5: 0.6, 6: 0.7},
            {1: "held_out", 2: "train_split", 3: "low_confidence", 4: "hidden", 5: "rejected"},
        )
        assert list(project.read(lambda conn: list(rankings.order(conn, run_id)))) == [3, 4, 5, 6]
        assert drain(project, project.user("ann"))[:4] == [3, 4, 5, 6]


def test_without_a_model_or_once_it_is_withdrawn_items_come_at_random(tmp_path: Path) -> None:
    with small(tmp_path, 40, **UNSURE) as project:
        project.rules = Rules(project.project.schemes, strategy="uncertainty", random_share=0.0, random=Random(1))
        ann = project.user("ann")
        first = [project.next(ann)]
        project.save(ann, first[0], POSITIVE)
        run_id = show(project, 1, {item: item / 100 for item in range(1, 41)})
        assert project.next(ann) == (1 if first != [1] else 2)
        project.save(ann, project.next(ann), POSITIVE)
        with project.database.write() as conn:
            predictions.withdraw(conn, run_id)
        rest = drain(project, ann)
        assert rest != sorted(rest)
        assert len(rest) == 38


def test_a_share_comes_at_random(tmp_path: Path) -> None:
    with small(tmp_path, 400, **UNSURE) as project:
        project.rules = Rules(project.project.schemes, strategy="uncertainty", random_share=0.25, random=Random(7))
        show(project, 1, {item: item / 1000 for item in range(1, 401)})
        ann = project.user("ann")
        given = []
        for _ in range(100):
            item = project.next(ann)
            assert isinstance(item, int)
            project.save(ann, item, POSITIVE)
            given.append(item)
        ranked = [item for item in given if item <= 110]
        by_chance = [item for item in given if item > 110]
        assert 10 <= len(by_chance) <= 35
        assert max(by_chance) > 300
        assert sum(before < after for before, after in pairwise(ranked)) > 60


def test_a_newer_live_model_is_followed_from_its_beginning(tmp_path: Path) -> None:
    with small(tmp_path, 6, **UNSURE) as project:
        first = show(project, 1, {1: 0.1, 2: 0.2, 3: 0.3, 4: 0.4})
        ann = project.user("ann")
        project.save(ann, project.next(ann), POSITIVE)
        show(project, 2, {2: 0.9, 3: 0.8, 4: 0.1, 5: 0.2, 6: 0.3})
        assert drain(project, ann) == [4, 5, 6, 3, 2]
        assert project.read(rankings.ranked) != {first}
        assert first not in project.read(rankings.ranked)
        lists = project.read(lambda conn: set(conn.execute(tables.cursors.select()).all()))
        assert not [row for row in lists if row.list == rankings.list_name(first)]


def test_twenty_annotators_at_once_get_the_twenty_least_sure_each_once(tmp_path: Path) -> None:
    """annotation 31"""
    with small(tmp_path, 60, **UNSURE) as project:
        show(project, 1, {item: 1 - item / 100 for item in range(1, 61)})
        people = [project.user(f"ann-{n}") for n in range(20)]
        writer = Writer(project.database)
        writer.start()
        begin = threading.Barrier(20)
        given: list[Any] = []

        def hand_out(conn: Connection, user: int) -> None:
            given.append(assignments.next_item(conn, user, NOW, project.rules))

        def ask(user: int) -> None:
            begin.wait(60)
            writer.call(lambda conn: hand_out(conn, user))

        threads = [threading.Thread(target=ask, args=(user,)) for user in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        writer.close()
        assert given == list(range(60, 40, -1))


def test_somebody_new_does_not_walk_past_what_others_have_done(tmp_path: Path) -> None:
    with small(tmp_path, 60, **UNSURE) as project:
        run_id = show(project, 1, {item: item / 100 for item in range(1, 61)})
        ann = project.user("ann")
        for _ in range(50):
            project.save(ann, project.next(ann), POSITIVE)
        assert project.write(rankings.shared_place, run_id) >= 49
        assert project.next(project.user("bob")) == 51


def test_an_item_that_somebody_skips_comes_to_the_next(tmp_path: Path) -> None:
    with small(tmp_path, 5, **UNSURE) as project:
        show(project, 1, {1: 0.9, 2: 0.1, 3: 0.2, 4: 0.3, 5: 0.4})
        ann, bob = project.user("ann"), project.user("bob")
        assert project.next(ann) == 2
        assert project.next(bob) == 3
        project.skip(ann, 2)
        project.save(bob, 3, POSITIVE)
        assert project.next(bob) == 2
        assert project.next(ann) == 4


def test_two_annotators_an_item_are_given_the_same_order(tmp_path: Path) -> None:
    with small(tmp_path, 4, annotations_per_item=2, **UNSURE) as project:
        show(project, 1, {1: 0.4, 2: 0.3, 3: 0.2, 4: 0.1})
        assert drain(project, project.user("ann")) == [4, 3, 2, 1]
        assert drain(project, project.user("bob")) == [4, 3, 2, 1]


def test_a_ranking_that_was_cut_short_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with small(tmp_path, 5, **UNSURE) as project:
        monkeypatch.setattr(ranking, "rank", lambda *_: None)
        run_id = show(project, 1, {1: 0.5, 2: 0.4, 3: 0.3})
        with project.database.write() as conn:
            rankings.add(conn, run_id, 0, [3])
        monkeypatch.undo()
        ranking.keep(project.project, project.database)
        assert project.read(lambda conn: rankings.is_complete(conn, run_id))
        assert drain(project, project.user("ann"))[:3] == [3, 2, 1]
        assert project.read(lambda conn: users.by_name(conn, "ann")).done == 5
