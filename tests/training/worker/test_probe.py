"""What an interpreter can train with."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from jobs import SOURCE, environment
from potato.training.worker import packages


def probed(*arguments: str, python: str = sys.executable, **env: str) -> dict[str, Any]:
    command = [python, "-m", "potato.training.worker.probe", *arguments]
    done = subprocess.run(command, env=environment(**env), capture_output=True, check=True, timeout=120)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_it_names_the_interpreter_the_device_and_every_trainer() -> None:
    answer = probed("--device", "cpu", PYTHONPATH=str(SOURCE))
    assert answer["executable"] == sys.executable
    assert answer["python"] == sys.version.split()[0]
    assert answer["device"] == {"name": "cpu", "text": "CPU", "warnings": [], "error": None}
    trainers = {trainer["name"]: trainer for trainer in answer["trainers"]}
    assert trainers["sklearn-text"] == {
        "name": "sklearn-text",
        "ok": True,
        "missing": [],
        "install": "",
        "fine_tunes": False,
    }
    assert trainers["hf-text-classification"]["fine_tunes"]


def test_what_is_missing_is_named_with_the_command_that_mends_it() -> None:
    """A broken third party's trainer (in the path too) hides nobody else's."""
    trainers = {trainer["name"]: trainer for trainer in probed("--device", "cpu")["trainers"]}
    assert trainers["strange-needy"] == {
        "name": "strange-needy",
        "ok": False,
        "missing": ["No module named 'no_such_module'"],
        "install": f"{sys.executable} -m pip install json 'no-such-package>=1.0'",
        "fine_tunes": False,
    }
    assert "strange-broken-import" not in trainers
    assert trainers["strange"]["ok"]


@pytest.mark.parametrize(
    ("installed", "needed", "lacks"),
    [
        ("4.46.0", "transformers>=4.46.0", None),
        ("4.46", "transformers>=4.46.0", None),
        ("5.0.0.dev0", "transformers>=4.46.0", None),
        ("4.100.1", "transformers>=4.46.0", None),
        ("4.45.9", "transformers>=4.46.0", "transformers 4.45.9 is installed and transformers>=4.46.0 is needed"),
        ("weird", "transformers>=4.46.0", None),
        (None, "transformers>=4.46.0", None),
        ("4.46.0.1", "transformers>=4.46.0", None),
        ("4.9", "transformers>=4.46", "transformers 4.9 is installed and transformers>=4.46 is needed"),
        ("1.0", "transformers", None),
    ],
)
def test_a_package_that_is_too_old_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, installed: str | None, needed: str, lacks: str | None
) -> None:
    from potato.training.trainers.base import Requirement

    monkeypatch.setattr(packages, "version", lambda name: installed)
    assert packages.lacking(Requirement("json", needed)) == lacks


def test_what_a_trainer_prints_does_not_spoil_the_answer() -> None:
    answer = probed("--device", "cpu", STRANGE_NOISE="a greeting")
    assert "strange" in [trainer["name"] for trainer in answer["trainers"]]
