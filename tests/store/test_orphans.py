"""Labels and questions that left the project while there are answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from makers import NOW, SENTIMENT, SURE, TOPICS, Small, make_project, small
from potato.cli.start import _report_load
from potato.items import tasks

ABC = {**SENTIMENT, "labels": ["A", "B", "C"]}


def test_a_start_says_how_many_answers_no_longer_fit_once_after_the_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """annotation 19: with a warning and a count"""

    def start(*schemes: dict[str, Any]) -> str:
        changed = make_project(tmp_path, annotation_schemes=schemes)
        _report_load(tasks.load(changed, project.database, {}))
        return capsys.readouterr().err

    with small(tmp_path, 3, annotation_schemes=[ABC, TOPICS, SURE]) as project:
        assert start(ABC, TOPICS, SURE) == ""
        for seq, label in enumerate("ABC", 1):
            project.save(project.user("ann"), seq, {"sentiment": label, "topics": ["price"], "sure": seq}, NOW)
        fewer = {**ABC, "labels": ["A", "B"]}
        said = start(fewer, SURE)
        assert "Warning: the project no longer takes 1 answer to 'sentiment' that it has. Such answers stay" in said
        assert "Warning: the project no longer takes 3 answers to 'topics' that it has." in said
        assert said.count("Warning") == 2
        assert start(fewer, SURE) == ""
        renamed = {**fewer, "label_renames": {"C": "B"}}
        assert start(renamed, TOPICS, SURE) == ""
        counted = Small(make_project(tmp_path, annotation_schemes=[renamed, TOPICS, SURE]), project.database)
        assert counted.read(lambda conn: conn.exec_driver_sql("SELECT count(*) FROM annotations").scalar()) == 9
