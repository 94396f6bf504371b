"""Fixtures for tests of runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import Lab, use_fakes


@pytest.fixture
def make_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Lab]:
    """Makes a project with labels whose runs may use the fake trainers."""
    use_fakes(monkeypatch)

    def make(items: Any = 60, labelled: int | None = 40, **config: Any) -> Lab:
        lab = Lab(tmp_path / "lab", items, **config)
        if labelled:
            lab.label_alternately(lab.ids[:labelled])
        return lab

    return make
