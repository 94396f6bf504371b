"""A project folder to write to, and its findings as text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from potato.project.loading import load

Findings = Callable[[str], list[str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with the data file that `project_texts.BASE` names."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "reviews.json").write_text('[{"id": "1", "text": "good"}]')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def findings(folder: Path) -> Findings:
    """Writes its argument as `config.yaml` and gives every finding, with its severity, as a line of text."""

    def write_and_load(text: str) -> list[str]:
        (folder / "config.yaml").write_text(text, encoding="utf-8")
        return [f"{f.severity.value}: {f}" for f in load(Path("config.yaml")).findings]

    return write_and_load
