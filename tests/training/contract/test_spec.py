"""The spec: read as it was written, or refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from potato.training.contract.spec import Spec, SpecError, read_spec

WHOLE: dict[str, Any] = {"run_id": "r", "trainer": "t", "schemas": ["s"], "bundle": "/b", "work_dir": "/w"}


def test_a_spec_is_read_as_it_was_written(tmp_path: Path) -> None:
    spec = Spec("r", "t", ["a", "ü"], "/b", "/w", {"C": 1.5}, 3, "cuda:1", 4, 1000, 5.5)
    spec.write(str(tmp_path / "spec.json"))
    assert read_spec(str(tmp_path / "spec.json")) == spec


def test_what_is_left_out_has_its_default_and_unknown_fields_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "spec.json").write_text(json.dumps({**WHOLE, "new_in_a_later_version": 1}))
    assert read_spec(str(tmp_path / "spec.json")) == Spec("r", "t", ["s"], "/b", "/w")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "is not a JSON object"),
        (json.dumps({key: value for key, value in WHOLE.items() if key != "trainer"}), "lacks trainer"),
        (json.dumps({**WHOLE, "seed": "one"}), "field 'seed' has the wrong type"),
        (json.dumps({**WHOLE, "version": 2}), "version 2; this Potato reads version 1"),
    ],
)
def test_a_spec_that_is_none_is_refused_in_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "spec.json").write_text(text)
    with pytest.raises(SpecError, match=said):
        read_spec(str(tmp_path / "spec.json"))


def test_a_spec_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.json"):
        read_spec(str(tmp_path / "nowhere.json"))
