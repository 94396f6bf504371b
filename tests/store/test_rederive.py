"""A project file that changes after people have answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from makers import SENTIMENT, SURE, TOPICS, Small, history, later, make_project, small, write_rows
from potato.items.importing import import_labels
from potato.items.tasks import load
from potato.store import adjudications, annotations, assignments, one_item
from potato.store.clock import to_text
from potato.store.rederive import rederive
from potato.store.steps import steps


def changed(project: Small, **config: Any) -> Small:
    """The same store under another project file, as the next start finds it."""
    new = Small(make_project(project.project.file.parent, **config), project.database)
    load(new.project, new.database, {})
    return new


def test_more_annotators_per_item_bring_the_items_back(tmp_path: Path) -> None:
    with small(tmp_path, 2) as project:
        load(project.project, project.database, {})
        ann, bob = project.user("ann"), project.user("bob")
        for item in (1, 2):
            project.save(ann, item, {"sentiment": "positive"})
        assert project.next(bob).reason == "all_done"
        project = changed(project, annotations_per_item=2)
        assert project.progress(ann) == assignments.Progress(2, 0, 0, 2)
        assert project.next(bob) == 1
        assert project.next(ann).reason == "yours_done"


def test_fewer_annotators_per_item_make_items_done(tmp_path: Path) -> None:
    with small(tmp_path, 2, annotations_per_item=2) as project:
        load(project.project, project.database, {})
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive"})
        project.skip(ann, 2)
        project = changed(project)
        assert project.progress(ann) == assignments.Progress(1, 1, 1, 2)
        assert project.next(project.user("bob")) == 2


def test_a_new_required_question_brings_an_annotators_items_back_to_them(tmp_path: Path) -> None:
    with small(tmp_path, 2) as project:
        load(project.project, project.database, {})
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive"})
        project = changed(project, annotation_schemes=[SENTIMENT, {**SURE, "required": True}])
        assert project.progress(ann).done == 0
        assert project.next(ann) == 1
        assert project.save(ann, 1, {"sure": 3}).item_done
        project = changed(project)
        assert project.progress(ann) == assignments.Progress(1, 0, 1, 2)


def test_a_renamed_label_carries_its_annotations_over(tmp_path: Path) -> None:
    """annotation 19: a map of renames migrates"""
    schemes = [SENTIMENT, TOPICS]
    with small(tmp_path, annotation_schemes=schemes) as project:
        load(project.project, project.database, {})
        ann = project.user("ann")
        project.save(ann, 1, {"sentiment": "positive", "topics": ["price", "size"]})
        renamed = [
            {**SENTIMENT, "labels": ["good", "negative"], "label_renames": {"positive": "good"}},
            {**TOPICS, "labels": ["size", "cost"], "label_renames": {"price": "cost"}},
        ]
        project = changed(project, annotation_schemes=renamed)
        assert project.read(annotations.of_user, ann, 1) == {"sentiment": "good", "topics": ["size", "cost"]}
        assert [row[3:] for row in project.read(history)][2:] == [('"good"', "rename"), ('["size", "cost"]', "rename")]
        assert not rederive(project.database, project.rules)


def test_a_renamed_answer_is_as_old_as_it_was_and_its_decision_is_renamed_too(tmp_path: Path) -> None:
    """annotation 19"""
    with small(tmp_path) as project:
        load(project.project, project.database, {})
        project.save(project.user("ann"), 1, {"sentiment": "positive"}, later(5))
        project.write(adjudications.decide, [adjudications.decided_at(1, "sentiment", "positive", "mira", later(6))])
        renamed = {**SENTIMENT, "labels": ["good", "negative"], "label_renames": {"positive": "good"}}
        project = changed(project, annotation_schemes=[renamed])
        [answer] = project.read(one_item.answers, 1)
        assert (answer.value, answer.at) == ("good", to_text(later(5)))
        assert project.read(adjudications.of_items, [1])[1, "sentiment"].value == "good"
        assert project.read(steps, project.user("ann"), 1) == [{"sentiment": None}]


@pytest.mark.parametrize("removed", [{"labels": ["negative", "mixed"]}, {"annotation_type": "likert", "labels": None}])
def test_answers_that_a_changed_question_does_not_take_are_counted_at_the_start(
    tmp_path: Path, removed: dict[str, Any]
) -> None:
    """annotation 19: start with a warning and a count, also where nothing else has changed."""
    with small(tmp_path) as project:
        load(project.project, project.database, {})
        project.save(project.user("ann"), 1, {"sentiment": "positive"})
        scheme = {name: value for name, value in {**SENTIMENT, **removed}.items() if value is not None}
        new = make_project(tmp_path, annotation_schemes=[scheme])
        assert load(new, project.database, {})["orphans"] == {"sentiment": 1}
        assert load(new, project.database, {})["orphans"] == {}  # it was said


def test_those_are_extra_who_were_done_last_however_often_the_overlap_changes(tmp_path: Path) -> None:
    """annotation 31: an optional answer, or one that was taken back, comes earlier and does not count."""
    with small(tmp_path, annotation_schemes=[SENTIMENT, TOPICS]) as project:
        load(project.project, project.database, {})
        ann, bob = project.user("ann"), project.user("bob")
        project.save(bob, 1, {"topics": ["size"]}, later(1))
        project.save(ann, 1, {"sentiment": "positive"}, later(2))
        project.save(bob, 1, {"sentiment": "positive"}, later(3))
        project.save(ann, 2, {"sentiment": "positive"}, later(1))
        project.save(ann, 2, {"sentiment": None}, later(2))
        project.save(bob, 2, {"sentiment": "positive"}, later(3))
        project.save(ann, 2, {"sentiment": "positive"}, later(4))
        before = [_extra(project, item) for item in (1, 2)]
        assert before == [{"bob"}, {"ann"}]
        for overlap, wanted in ((2, [set(), set()]), (1, before)):
            project = changed(project, annotations_per_item=overlap, annotation_schemes=[SENTIMENT, TOPICS])
            assert [_extra(project, item) for item in (1, 2)] == wanted


def _extra(project: Small, item: int) -> set[str]:
    return {answer.annotator for answer in project.read(one_item.answers, item) if answer.extra}


def test_an_import_before_the_first_start_is_worked_out_by_the_rules_of_that_start(tmp_path: Path) -> None:
    with small(tmp_path, 2) as project:
        lines = [{"id": "1", "annotator": name, "annotations": {"sentiment": "positive"}} for name in ("ann", "bob")]
        import_labels(project.project, project.database, write_rows(tmp_path, lines, "labels.jsonl"))
        assert _extra(project, 1) == {"bob"}
        project = changed(project, annotations_per_item=3)
        assert _extra(project, 1) == set()
        assert project.next(project.user("cem")) == 1


def test_an_import_by_other_rules_than_the_servers_is_put_right_at_the_next_start(tmp_path: Path) -> None:
    with small(tmp_path, 2) as project:
        load(project.project, project.database, {})
        edited = make_project(tmp_path, annotations_per_item=2)
        lines = [{"id": "1", "annotator": name, "annotations": {"sentiment": "positive"}} for name in ("ann", "bob")]
        import_labels(edited, project.database, write_rows(tmp_path, lines, "labels.jsonl"))
        project = changed(project)
        assert _extra(project, 1) == {"bob"}
        assert project.next(project.user("cem")) == 2
