"""Jobs for the worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobs import Item, Job, write_bundle
from potato.training.worker import launch
from potato.training.worker.launch import Launched

ITEMS = [
    *(Item(f"t{n}", f"text {n}", "train", {"s": ("b", "a")[n % 2], "other": "x"}) for n in range(4)),
    Item("v", "val", "val", {"s": "a"}),
    Item("e1", "test", "test", {"s": "b"}),
    Item("e2", "test", "test", {"other": "x"}),
    *(Item(f"p{n}", f"predict {n}", "predict") for n in range(3)),
]
SCHEMAS = {
    "s": ("nominal", ["a", "never used", "b"]),
    "other": ("nominal", ["x"]),
    "many": ("multilabel", ["p", "q"]),
}


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    """Makes a job of a strange trainer over a small bundle; `options` are fields of the spec."""

    def make(trainer: str = "strange", schemas: tuple[str, ...] = ("s",), options: Any = None, **params: Any) -> Job:
        bundle = write_bundle(tmp_path / "bundle", ITEMS, SCHEMAS)
        return Job(tmp_path, bundle, trainer, list(schemas), params, options or {}).write()

    return make


@pytest.fixture
def ended() -> Iterator[list[Launched]]:
    """A list of workers that are killed when the test is over."""
    workers: list[Launched] = []
    yield workers
    for worker in workers:
        assert launch.terminate(worker, 0)
