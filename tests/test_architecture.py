"""The rules of docs/architecture.md that no other tool checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TRAINING_LIBRARIES = ("torch", "transformers", "peft", "sklearn", "skops", "scipy", "accelerate")


def loaded_after(statement: str) -> set[str]:
    """Every module that is loaded once a fresh interpreter has run `statement`."""
    program = f"import sys; {statement}; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_arrows_go_down() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("module", ["potato.app", "potato.cli.start", "potato.training.runs", "potato.tasks"])
def test_the_server_imports_no_training_library(module: str) -> None:
    assert loaded_after(f"import {module}").isdisjoint(TRAINING_LIBRARIES)


def test_importing_potato_costs_nothing() -> None:
    loaded = {name for name in loaded_after("import potato") if name.partition(".")[0] == "potato"}
    assert loaded == {"potato"}


def test_listing_trainers_imports_no_training_library() -> None:
    statement = "from potato.training.trainers import registry; registry.infos()"
    assert loaded_after(statement).isdisjoint(TRAINING_LIBRARIES)
