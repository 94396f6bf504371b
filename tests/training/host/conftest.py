"""Hosts for tests, and what their couriers ask."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import missing
from host_scene import Host
from jobs import STRANGE, Item, write_bundle
from keepers import nothing_left
from standin import StandIn, pack, serving

ITEMS = [
    *(Item(f"t{n}", f"text {n}", "train", {"s": ("b", "a")[n % 2]}) for n in range(4)),
    Item("v", "val", "val", {"s": "a"}),
    *(Item(f"p{n}", f"predict {n}", "predict") for n in range(3)),
]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """Logs in to this machine; the connections end with the test."""
    made: list[Host] = []

    def log_in(python: str = sys.executable, home: str = "home", **more: Any) -> Host:
        env = {"PYTHONPATH": str(STRANGE), **more.pop("env", {})}
        made.append(Host(tmp_path / home, python, env=env, **more))
        return made[-1]

    yield log_in
    for one in made:
        one.close()


@pytest.fixture(scope="session")
def python38() -> str:
    """A real Python 3.8."""
    installed = sorted((Path.home() / ".pyenv" / "versions").glob("3.8*/bin/python3.8"))
    for candidate in (shutil.which("python3.8"), *map(str, installed)):
        if candidate and subprocess.run([candidate, "-V"], capture_output=True, check=False).returncode == 0:
            return candidate
    missing("a Python 3.8")
    raise AssertionError


@pytest.fixture
def run_id(tmp_path: Path) -> Iterator[str]:
    """A run's id of this very test's; nothing of that run lives when the test is over."""
    with nothing_left(tmp_path) as name:
        yield name


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with serving() as server:
        yield server
        server.fault = lambda handler: ""


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    write_bundle(tmp_path / "source", ITEMS, {"s": ("nominal", ["a", "b"])})
    return pack(tmp_path / "source")
