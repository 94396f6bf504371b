"""Who gets which item next."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makers import NOW, Small, later, small, texts, write_rows
from potato.items.loading import load_items
from potato.store import Writer, assignments, one_item
from potato.store.assignments import NothingLeft
from potato.store.rules import Rules

POSITIVE = {"sentiment": "positive"}


def drain(project: Small, user: int) -> list[int]:
    """Answer everything that `user` is given."""
    given_ = []
    while not isinstance(item := project.next(user), NothingLeft):
        project.save(user, item, POSITIVE)
        given_.append(item)
    return given_


def test_items_come_in_the_order_of_the_data(tmp_path: Path) -> None:
    with small(tmp_path, 4) as project:
        assert drain(project, project.user("ann")) == [1, 2, 3, 4]


def test_an_item_that_is_held_is_given_again_until_it_is_answered(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        ann = project.user("ann")
        assert [project.next(ann), project.next(ann)] == [1, 1]
        project.save(ann, 1, POSITIVE)
        assert project.next(ann) == 2


def test_two_annotators_never_hold_the_same_item_where_one_answer_is_wanted(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        assert {project.next(project.user(name)) for name in ("ann", "bob", "cem")} == {1, 2, 3}


def test_each_item_goes_to_as_many_annotators_as_the_project_wants(tmp_path: Path) -> None:
    with small(tmp_path, 5, annotations_per_item=2) as project:
        given_ = Counter(item for name in ("ann", "bob", "cem") for item in drain(project, project.user(name)))
        assert given_ == dict.fromkeys(range(1, 6), 2)


def test_an_item_comes_back_when_its_lease_ends(tmp_path: Path) -> None:
    with small(tmp_path, 1, lease_minutes=10) as project:
        ann, bob = project.user("ann"), project.user("bob")
        assert project.next(ann) == 1
        assert project.next(bob, later(9)) == NothingLeft(
            "with_others",
            "One item is with other annotators at the moment; whatever they do not answer in time comes back.",
        )
        assert project.next(bob, later(10)) == 1


def test_an_annotator_who_comes_back_gets_what_lapsed_unless_others_have_it(tmp_path: Path) -> None:
    with small(tmp_path, 2, lease_minutes=10) as project:
        ann, bob = project.user("ann"), project.user("bob")
        assert project.next(ann) == 1
        assert project.next(ann, later(60)) == 1
        assert project.next(bob, later(200)) == 1
        assert project.next(ann, later(200)) == 2


def test_a_late_extra_answer_is_kept_and_flagged(tmp_path: Path) -> None:
    """annotation 31"""
    with small(tmp_path, 1, lease_minutes=10) as project:
        ann, bob = project.user("ann"), project.user("bob")
        project.next(ann)
        project.next(bob, later(11))
        assert not project.save(bob, 1, POSITIVE, later(12)).extra
        assert project.save(ann, 1, {"sentiment": "negative"}, later(13)).extra
        assert project.progress(ann).total_done == 1
        assert project.read(lambda conn: conn.exec_driver_sql("SELECT count(*) FROM annotations").scalar()) == 2


def test_an_extra_answer_is_none_any_more_once_an_earlier_one_is_taken_back(tmp_path: Path) -> None:
    """annotation 31"""
    with small(tmp_path, 1) as project:
        names = ("ann", "bob", "cem")
        for minute, name in enumerate(names):
            assert project.save(project.user(name), 1, POSITIVE, later(minute)).extra is (name != "ann")
        assert [answer.extra for answer in project.read(one_item.answers, 1)] == [False, True, True]
        project.save(project.user("ann"), 1, {"sentiment": None}, later(3))
        assert [answer.extra for answer in project.read(one_item.answers, 1)] == [False, True]
        assert project.save(project.user("ann"), 1, POSITIVE, later(4)).extra
        assert project.progress(project.user("ann")).total_done == 1


def test_of_several_extra_answers_the_one_that_was_given_first_is_the_first_that_is_none_any_more(
    tmp_path: Path,
) -> None:
    """Not the one by who had met the item first."""
    with small(tmp_path, 1, annotations_per_item=3, lease_minutes=60) as project:
        bob, ann, cem = (project.user(name) for name in ("bob", "ann", "cem"))
        for minute, user in enumerate((bob, ann, cem)):
            assert project.next(user, later(minute)) == 1
        project.rules = replace(project.rules, target=1)
        for minute, user in enumerate((cem, ann, bob), 3):
            assert project.save(user, 1, POSITIVE, later(minute)).extra is (user != cem)
        project.save(cem, 1, {"sentiment": None}, later(6))
        assert {answer.annotator: answer.extra for answer in project.read(one_item.answers, 1)} == {
            "ann": False,
            "bob": True,
        }


def test_a_skipped_item_goes_to_others_and_not_back(tmp_path: Path) -> None:
    with small(tmp_path, 2) as project:
        ann, bob = project.user("ann"), project.user("bob")
        project.skip(ann, project.next(ann), "unclear")
        assert project.next(ann) == 2
        assert project.next(bob) == 1
        project.save(ann, 2, POSITIVE)
        assert project.next(ann).reason == "with_others"
        assert project.progress(ann) == assignments.Progress(done=1, skipped=1, total_done=1, total=2)


def test_a_skipped_item_that_is_answered_after_all_is_done(tmp_path: Path) -> None:
    with small(tmp_path, 1) as project:
        ann = project.user("ann")
        project.skip(ann, 1)
        project.save(ann, 1, POSITIVE)
        assert project.progress(ann) == assignments.Progress(done=1, skipped=0, total_done=1, total=1)


def test_an_answer_taken_back_makes_the_item_wanted_again(tmp_path: Path) -> None:
    with small(tmp_path, 1) as project:
        ann, bob = project.user("ann"), project.user("bob")
        drain(project, ann)
        assert project.next(bob).reason == "all_done"
        project.save(ann, 1, {"sentiment": None})
        assert project.progress(ann) == assignments.Progress(0, 0, 0, 1)
        assert project.next(bob) == 1


@pytest.mark.parametrize(
    ("items", "wanted", "reason", "sentence"),
    [
        (0, 1, "no_items", "The project has no items yet."),
        (2, 1, "all_done", "Everything is annotated. Thank you."),
        (2, 2, "yours_done", "You have been through every item. What is left needs other annotators, not you."),
    ],
)
def test_it_says_why_nothing_is_left(tmp_path: Path, items: int, wanted: int, reason: str, sentence: str) -> None:
    with small(tmp_path, items, annotations_per_item=wanted) as project:
        ann = project.user("ann")
        drain(project, ann)
        assert project.next(ann) == NothingLeft(reason, sentence)


def test_items_that_are_added_later_are_given_to_those_who_were_through(tmp_path: Path) -> None:
    with small(tmp_path, 2, annotations_per_item=2) as project:
        ann = project.user("ann")
        assert drain(project, ann) == [1, 2]
        write_rows(tmp_path, texts(3))
        load_items(project.project, project.database)
        assert drain(project, ann) == [3]


def test_least_annotated_gives_what_fewest_have(tmp_path: Path) -> None:
    with small(tmp_path, 3, annotations_per_item=3, assignment_strategy="least-annotated") as project:
        ann, bob, cem = (project.user(name) for name in ("ann", "bob", "cem"))
        project.save(ann, project.next(ann), POSITIVE)
        assert project.next(bob) == 2
        project.save(bob, 2, POSITIVE)
        assert project.next(cem) == 3
        project.save(cem, 3, POSITIVE)
        assert {project.next(user) for user in (ann, bob, cem)} == {1, 2}


@pytest.mark.parametrize("strategy", ["random", "uncertainty"])
def test_random_is_not_the_order_of_the_data_and_misses_nothing(tmp_path: Path, strategy: str) -> None:
    with small(tmp_path, 30, assignment_strategy=strategy) as project:
        project.rules = Rules(project.project.schemes, strategy=strategy, random=Random(1))
        given_ = drain(project, project.user("ann"))
        assert sorted(given_) == list(range(1, 31))
        assert given_ != sorted(given_)


def test_back_and_forth_follow_the_order_in_which_items_were_met(tmp_path: Path) -> None:
    with small(tmp_path, 3) as project:
        ann = project.user("ann")
        for minute in range(3):
            project.save(ann, project.next(ann, later(minute)), POSITIVE, later(minute))
        back = [project.read(assignments.neighbour, ann, at, "back") for at in (None, 3, 2, 1)]
        assert back == [3, 2, 1, None]
        assert [project.read(assignments.neighbour, ann, at, "forth") for at in (1, 3)] == [2, None]


def test_twenty_threads_that_ask_at_once_get_different_items(tmp_path: Path) -> None:
    """annotation 31"""
    with small(tmp_path, 40) as project:
        people = [project.user(f"user {n}") for n in range(20)]
        writer = Writer(project.database)
        writer.start()
        given_: list[object] = []

        def ask(user: int) -> None:
            for _ in range(2):
                item = writer.call(lambda conn: assignments.next_item(conn, user, NOW, project.rules))
                assert isinstance(item, int)
                given_.append(item)
                project_save(writer, project, user, item)

        threads = [threading.Thread(target=ask, args=(user,)) for user in people]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writer.close()
        assert sorted(given_) == list(range(1, 41))


def project_save(writer: Writer, project: Small, user: int, item: int) -> None:
    from potato.store import annotations

    writer.call(lambda conn: annotations.save(conn, annotations.Save(user, item, POSITIVE, NOW), project.rules))


STEP = st.tuples(st.integers(0, 3), st.sampled_from(["next", "save", "skip", "clear", "wait"]))


@settings(max_examples=25, deadline=None)
@given(
    steps=st.lists(STEP, max_size=40),
    target=st.integers(1, 3),
    strategy=st.sampled_from(["ordered", "random", "least-annotated"]),
)
def test_whatever_happens_the_counts_are_right_and_nothing_is_lost(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str]], target: int, strategy: str
) -> None:
    folder = tmp_path_factory.mktemp("project")
    with small(folder, 4, annotations_per_item=target, assignment_strategy=strategy, lease_minutes=5) as project:
        people = [project.user(name) for name in ("ann", "bob", "cem", "dee")]
        minute = 0
        for who, what in steps:
            user = people[who]
            if what == "wait":
                minute += 6
                continue
            item = project.next(user, later(minute))
            if isinstance(item, NothingLeft):
                continue
            if what == "save":
                project.save(user, item, POSITIVE, later(minute))
            elif what == "skip":
                project.skip(user, item, None, later(minute))
            elif what == "clear":
                project.save(user, item, POSITIVE, later(minute))
                project.save(user, item, {"sentiment": None}, later(minute))
        check_counts(project, people, target)
        check_nothing_is_lost(project, target, minute + 10)


def check_counts(project: Small, people: list[int], target: int) -> None:
    with project.database.read() as conn:
        rows = conn.exec_driver_sql('SELECT item, "user", state FROM assignments').all()
        wanted = dict(conn.exec_driver_sql("SELECT item, taken FROM wanted").all())
    taken = Counter(item for item, _, state in rows if state in ("open", "done"))
    assert wanted == {item: taken[item] for item in range(1, 5) if taken[item] < target}
    done = Counter(item for item, _, state in rows if state == "done")
    for user in people:
        assert project.progress(user) == assignments.Progress(
            done=sum(u == user and state == "done" for _, u, state in rows),
            skipped=sum(u == user and state == "skipped" for _, u, state in rows),
            total_done=sum(count >= target for count in done.values()),
            total=4,
        )


def check_nothing_is_lost(project: Small, target: int, minute: int) -> None:
    """Newcomers get everything that is still wanted."""
    for name in ("eve", "fay", "gus"):
        user = project.user(name)
        while not isinstance(item := project.next(user, later(minute)), NothingLeft):
            project.save(user, item, POSITIVE, later(minute))
    assert project.progress(project.user("eve")).total_done == 4
