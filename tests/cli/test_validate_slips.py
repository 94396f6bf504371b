"""Slips in a new project's question are findings that name their place: none makes `potato validate` fail itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from potato.cli.validate import check
from potato.project.finding import Severity
from potato.project.models import ItemProperties
from potato.project.starting import NewProject, sample_lines

SLIPS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a misspelt type": lambda question: question.update(annotation_type="radioo"),
    "no type": lambda question: question.pop("annotation_type"),
    "no name": lambda question: question.pop("name"),
    "labels, and none": lambda question: question.update(labels=[]),
}


@pytest.mark.parametrize("slip", SLIPS)
@pytest.mark.parametrize("kind", ["radio", "span", "pairwise", "number"])
def test_a_slip_is_told_with_its_line(kind: str, slip: str, tmp_path: Path) -> None:
    fields = ItemProperties(text_key="text_a") if kind == "pairwise" else ItemProperties()
    project = NewProject("Study", "items.jsonl", fields, "What?", kind=kind, labels=["one", "two"])
    (tmp_path / "items.jsonl").write_text(sample_lines(kind == "pairwise"), "utf-8")
    yaml, file = YAML(typ="safe"), tmp_path / "config.yaml"
    wrong = yaml.load(project.as_yaml())
    SLIPS[slip](wrong["annotation_schemes"][0])
    with file.open("w", encoding="utf-8") as written:
        yaml.dump(wrong, written)
    errors = [finding for finding in check(file) if finding.severity is Severity.ERROR]
    assert any(finding.path.startswith("annotation_schemes[0]") and finding.line > 1 for finding in errors)
