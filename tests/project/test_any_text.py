"""Whatever a project file holds, loading it gives a project or findings; it never fails otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from potato.project.loading import load
from project_texts import BASE

PIECES = [
    "a",
    ": ",
    "\n",
    "  ",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&a",
    "*a",
    "<<",
    "!",
    "|",
    ">",
    "'",
    '"',
    "#",
    "?",
    "%",
    "\\x",
    "~",
    ",",
    "é",
    "---",
    "...",
    "@",
    "`",
    "\\U",
]
KEYS = [
    "annotation_schemes",
    "model_training",
    "labels",
    "backends",
    "type",
    "ssh",
    "slurm",
    "name",
    "radio",
    "show_if",
    "no",
]

broken = st.lists(st.sampled_from(PIECES + KEYS), max_size=40).map("".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(KEYS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("any") / "config.yaml"


def outcome(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    loaded = load(file)
    assert (loaded.project is None) == bool(loaded.errors)
    assert all(finding.line >= 1 and "\n" not in str(finding) for finding in loaded.findings)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes(file, data):
    outcome(file, data)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=broken, after=st.sampled_from(["", BASE]))
def test_anything_like_yaml(file, text, after):
    outcome(file, (after + text).encode())


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(["model_training", "annotation_schemes", "login", "data_files", "validation"]), value=values)
def test_any_values_for_any_block(file, key, value):
    text = "\n".join(line for line in BASE.splitlines() if not line.startswith(key))
    if key == "annotation_schemes":
        text = "\n".join(BASE.splitlines()[:3])
    outcome(file, f"{text}\n{key}: {value!r}\n".replace("None", "null").encode("utf-8", "replace"))
