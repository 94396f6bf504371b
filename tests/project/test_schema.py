"""The JSON Schema of the project file takes what the server takes, and refuses what it refuses."""

from __future__ import annotations

import jsonschema_rs
import pytest
from ruamel.yaml import YAML

from potato.project.reference import sections
from potato.project.schema import project_schema
from project_texts import BASE, SLURM, SSH, training


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Draft202012Validator:
    schema = project_schema()
    assert jsonschema_rs.meta.is_valid(schema)
    return jsonschema_rs.Draft202012Validator(schema)


def as_an_editor_reads(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


GOOD = [
    BASE,
    BASE.replace("[positive, negative]", "[no, 01, {name: 1.0, key: 1}, true]"),
    training(SSH, "      gpus: 0", SLURM, "      time: 30", "      mem: 4000", "    lab: {type: agent}"),
    BASE + "    show_if: {other: [1, b]}\n",
]
BAD = [
    "[]",
    "annotation_task_name: a\n",
    BASE + "zzz: 1\n",
    BASE.replace("radio", "raido"),
    BASE.replace("    name: sentiment\n", ""),
    BASE.replace("[positive, negative]", "[[a], b]"),
    training(SSH, "      gres: gpu:1"),
    training("    gpu: {type: ssh}"),
    training("    lab: {type: agent, python: x}"),
    BASE + "model_training: {retain_runs: -1}\n",
    BASE + "model_training: {aggregation: mean}\n",
]


@pytest.mark.parametrize("text", GOOD)
def test_the_schema_takes_what_the_server_takes(text, validator):
    assert list(validator.iter_errors(as_an_editor_reads(text))) == []


@pytest.mark.parametrize("text", BAD)
def test_the_schema_refuses_what_the_server_refuses(text, validator):
    assert list(validator.iter_errors(as_an_editor_reads(text)))


def test_every_key_has_a_help_text_in_the_schema():
    parts = [project_schema(), *project_schema()["$defs"].values()]
    keys = [(part.get("title"), name, key) for part in parts for name, key in part.get("properties", {}).items()]
    assert len(keys) > 80
    assert [(title, name) for title, name, key in keys if not key.get("description") and "$ref" not in key] == []


def test_every_model_is_in_the_schema():
    names = {section.model.__name__ for section in sections()} - {"ProjectFile"}
    assert names <= project_schema()["$defs"].keys()
