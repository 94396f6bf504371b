"""A served lab for tests of agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_scene import Served, agent_lab, served, token_for
from house import House
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


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """One house for all tests: each leaves it as it was."""
    folder = tmp_path_factory.mktemp("house")
    (hold := folder / "hold").mkdir()
    (hold / "import").touch()
    with pytest.MonkeyPatch.context() as patch:
        use_fakes(patch)
        patch.setenv("POTATO_HOLD", str(hold))
        made = House(folder, hold)
        yield made
        made.close()
