"""What tests of both ends of the agents' protocol ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from keepers import nothing_left
from standin import StandIn, serving


@pytest.fixture
def standin() -> Iterator[StandIn]:
    """A server that speaks the agents' protocol, and nothing else."""
    with serving() as server:
        yield server
        server.fault = lambda handler: ""


@pytest.fixture
def run_id(tmp_path: Path) -> Iterator[str]:
    """A run's id of this very test's; nothing of that run lives when the test is over."""
    with nothing_left(tmp_path) as name:
        yield name
