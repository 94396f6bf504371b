"""Hosts for tests, and what their couriers ask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from host_scene import Host
from jobs import STRANGE, Item, write_bundle
from standin import pack

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


@pytest.fixture
def archive(tmp_path: Path) -> bytes:
    write_bundle(tmp_path / "source", ITEMS, {"s": ("nominal", ["a", "b"])})
    return pack(tmp_path / "source")
