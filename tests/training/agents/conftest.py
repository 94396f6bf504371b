"""A served lab for tests of agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_scene import Served, agent_lab, served, token_for
from lab import use_fakes


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A server with an agent backend."""
    use_fakes(monkeypatch)
    with served(agent_lab(tmp_path / "lab")) as server:
        yield server


@pytest.fixture
def token(server: Served) -> str:
    """The backend's token."""
    return token_for(server.lab)
