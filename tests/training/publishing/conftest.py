"""A model trained once on labels with odd names, and a stand-in of the Hub that all processes are sent to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hub_standin
from lab import Lab, finished
from potato.store.training.runs import State
from potato.training.runs.request import RunRequest

ODD = ["it's", "a:b", "x, y", 'say "hi"', "<cat>", "A/B", "/etc", "اسم", "*_`|~", "a" * 120]
PROJECT = "Reviews: \"odd\" | <b>names</b> & 'more'"


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, str]:
    """A lab, and the id of its run of sklearn-text that succeeded."""
    question = {"annotation_type": "radio", "name": "kind/of", "description": "Which | kind?", "labels": ODD}
    words = ["good", "bad", "fine", "odd", "new"]
    rows = [{"id": f"i{n}", "text": f"{words[n % 5]} kind-{n % 10} text {n}"} for n in range(200)]
    lab = Lab(tmp_path_factory.mktemp("lab"), rows, annotation_task_name=PROJECT, annotation_schemes=[question])
    for user in ("ann", "ben"):
        lab.label({f"i{n}": ODD[(n + (n % 9 == 0)) % 10] for n in range(200)}, scheme="kind/of", user=user)
    with lab.supervisor() as supervisor:
        run = finished(supervisor, supervisor.submit(RunRequest("sklearn-text", ["kind/of"])).run_id)
    assert run.state is State.SUCCESS, run.error
    return lab, run.run_id


@pytest.fixture
def hub(monkeypatch: Any, tmp_path: Path) -> Iterator[hub_standin.Hub]:
    """The stand-in, whose token is in the environment."""
    with hub_standin.serving() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        monkeypatch.setenv("HF_TOKEN", hub_standin.TOKEN)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
        yield served
