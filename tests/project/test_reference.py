"""The configuration reference has a row for every field, and each row says something."""

from __future__ import annotations

import re

import pytest

from potato.project.models import ProjectFile
from potato.project.reference import markdown, sections
from potato.schemes import SCHEME_TYPES

PARTS = {section.title: section for section in sections()}


def rows(title: str) -> dict[str, list[str]]:
    body = markdown().split(f"\n## {title}\n")[1].split("\n## ")[0]
    cells = [re.split(r"(?<!\\) \| ", line.strip("| ")) for line in body.splitlines() if line.startswith("| `")]
    return {cell[0].strip("`"): cell for cell in cells}


@pytest.mark.parametrize("title", PARTS)
def test_every_field_has_a_row_with_a_meaning(title):
    fields = PARTS[title].model.model_fields
    assert rows(title).keys() == fields.keys()
    assert all(row[-1].strip() and len(row[-1]) > 3 for row in rows(title).values())


def test_every_model_is_reached():
    models = {section.model for section in sections()}
    assert ProjectFile in models
    assert set(SCHEME_TYPES) <= models
    names = {model.__name__ for model in models}
    assert {"SshBackend", "SlurmBackend", "AgentBackend", "Writeback", "Webhook", "Label"} <= names


def test_rows_tell_type_limits_and_default():
    assert rows("`model_training`")["retain_runs"][1:3] == ["a whole number, at least 0", "`5`"]
    assert rows("`model_training`")["enabled"][1:3] == ["`true` or `false`", "`false`"]
    assert rows("`model_training.backends.NAME` with `type: ssh`")["host"][1:3] == ["text", "required"]


def test_defaults_are_those_of_the_specification():
    text = {name: row[2] for name, row in rows("`model_training`").items()}
    assert {
        name: text[name]
        for name in (
            "backend",
            "grace_seconds",
            "device",
            "max_predictions_mb",
            "retain_runs",
            "split_seed",
            "aggregation",
        )
    } == {
        "backend": "`local`",
        "grace_seconds": "`20`",
        "device": "`auto`",
        "max_predictions_mb": "`512`",
        "retain_runs": "`5`",
        "split_seed": "`0`",
        "aggregation": "`consensus`",
    }
    assert [rows("`model_training.splits`")[name][2] for name in ("train", "val", "test")] == [
        "`0.7`",
        "`0.15`",
        "`0.15`",
    ]
