"""Saving answers, and reading them."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from makers import NOW, SENTIMENT, SURE, TOPICS, history, later, small
from potato.store import Writer, annotations
from potato.store.annotations import RequestIdReused, Save
from potato.store.exporting import answered_items

SHOWN = {"run_id": "r1", "model_version": "m1", "payload": "positive", "confidence": 0.9}


def test_the_last_answer_counts_and_each_is_in_the_history(tmp_path: Path) -> None:
    """annotation 30: click A, B, A"""
    with small(tmp_path) as project:
        ann = project.user("ann")
        for label in ("positive", "negative", "positive"):
            project.save(ann, 1, {"sentiment": label})
        assert project.read(annotations.of_user, ann, 1) == {"sentiment": "positive"}
        assert list(project.read(lambda conn: list(annotations.labels(conn, ["sentiment"])))) == [
            (1, ann, "sentiment", "positive")
        ]
        assert [row[3] for row in project.read(history)] == ['"positive"', '"negative"', '"positive"']


def test_the_same_request_twenty_times_at_once_is_one_record_and_one_answer(tmp_path: Path) -> None:
    """annotation 28"""
    with small(tmp_path) as project:
        ann = project.user("ann")
        writer = Writer(project.database)
        writer.start()
        saved: list[annotations.Saved] = []

        def send(second: int) -> None:
            order = Save(ann, 1, {"sentiment": "positive"}, later(seconds=second), request_id="once")
            saved.append(writer.call(lambda conn: annotations.save(conn, order, project.rules)))

        threads = [threading.Thread(target=send, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writer.close()
        assert len({each.at for each in saved}) == 1
        assert sorted(each.repeated for each in saved) == [False] + [True] * 19
        assert all(each.item_done for each in saved)
        assert len(project.read(history)) == 1


def test_a_late_repeat_does_not_undo_what_was_answered_since(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive"}, request_id="first")
        project.save(ann, 1, {"sentiment": "negative"}, request_id="second")
        assert project.save(ann, 1, {"sentiment": "positive"}, request_id="first").repeated
        assert project.read(annotations.of_user, ann, 1) == {"sentiment": "negative"}


def test_a_request_id_that_saved_another_item_is_refused_rather_than_dropped(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive"}, request_id="r")
        with pytest.raises(RequestIdReused):
            project.save(ann, 2, {"sentiment": "positive"}, request_id="r")
        assert project.save(project.user("bob"), 2, {"sentiment": "positive"}, request_id="r").item_done


def test_an_item_is_done_when_every_required_question_is_answered(tmp_path: Path) -> None:
    schemes = [SENTIMENT, {**SURE, "required": True}, TOPICS]
    with small(tmp_path, annotation_schemes=schemes) as project:
        ann = project.user("ann")
        assert not project.save(ann, 1, {"sentiment": "positive", "topics": []}).item_done
        assert project.save(ann, 1, {"sure": 3}).item_done
        assert not project.save(ann, 1, {"sentiment": None}).item_done
        assert project.read(annotations.of_user, ann, 1) == {"sure": 3, "topics": []}


def test_a_question_that_is_not_shown_is_not_required(tmp_path: Path) -> None:
    schemes = [SENTIMENT, {**SURE, "required": True, "show_if": {"sentiment": "negative"}}]
    with small(tmp_path, annotation_schemes=schemes) as project:
        ann = project.user("ann")
        assert project.save(ann, 1, {"sentiment": "positive"}).item_done
        assert not project.save(ann, 2, {"sentiment": "negative"}).item_done
        assert project.save(ann, 2, {"sure": 1}).item_done


@pytest.mark.parametrize(
    ("shown", "answer", "origin"),
    [
        ({}, "positive", "none"),
        ({"sentiment": SHOWN}, "positive", "accepted"),
        ({"sentiment": SHOWN}, "negative", "changed"),
    ],
)
def test_how_an_answer_stands_to_the_suggestion_is_kept(
    tmp_path: Path, shown: dict[str, object], answer: str, origin: str
) -> None:
    with small(tmp_path) as project:
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": answer}, suggestions=shown, elapsed_ms=1200)
        row = project.read(lambda conn: list(answered_items(conn, text=False)))[0].answers[0]
        assert (row.origin, row.suggestion, row.elapsed_ms) == (origin, shown.get("sentiment"), 1200)


def test_labels_leave_out_those_of_who_skipped_the_item(tmp_path: Path) -> None:
    with small(tmp_path, annotations_per_item=2) as project:
        ann, bob = project.user("ann"), project.user("bob")
        project.save(ann, 1, {"sentiment": "positive"})
        project.save(bob, 1, {"sentiment": "negative"})
        project.skip(bob, 1, "not sure after all")
        with project.database.read() as conn:
            assert list(annotations.labels(conn, ["sentiment"])) == [(1, ann, "sentiment", "positive")]
            assert annotations.count_by_scheme(conn) == {"sentiment": 2}
            assert annotations.labelled_items(conn) == {"sentiment": 1}


def test_a_save_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with small(tmp_path) as project:
        ann = project.user("ann")
        writer = Writer(project.database)
        writer.start()
        with pytest.raises(Exception, match=r"(?i)foreign key"):
            writer.call(
                lambda conn: annotations.save(conn, Save(ann, 99, {"sentiment": "positive"}, NOW), project.rules)
            )
        writer.close()
        assert project.read(history) == []
