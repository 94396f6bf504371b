"""A project file that changes after people have answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from makers import NOW, SENTIMENT, SURE, TOPICS, Small, history, make_project, small
from potato.items.tasks import load
from potato.store import annotations, assignments
from potato.store.rederive import rederive


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
        assert not rederive(project.database, project.rules, NOW)
