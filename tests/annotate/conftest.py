"""A served project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import site_scenes as scenes


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with scenes.served(scenes.project(tmp_path)) as client:
        yield client
