"""`potato trainers`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from potato.training.trainers import registry

WITHOUT = """
import importlib.util, sys
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name == "transformers" else find(name, *more)
from potato.cli import main
main()
print([name for name in ("torch", "sklearn", "peft") if name in sys.modules], file=sys.stderr)
"""
"""The command line of a machine on which transformers is not installed."""


def potato(*arguments: str, program: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *(["-c", program] if program else ["-m", "potato"]), "trainers", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_trainer_is_listed_and_says_what_it_lacks() -> None:
    done = potato(program=WITHOUT)
    lines = done.stdout.splitlines()
    heads = {line.partition(":")[0]: line.partition(": ")[2] for line in lines if not line.startswith(" ")}
    assert list(heads) == registry.names()
    assert heads["sklearn-text"] == "ready"
    assert heads["text-embedding"] == "lacks transformers>=4.46.0"
    assert f"  install: {registry.get('text-embedding').info.install_command()}" in lines
    assert f"  {registry.get('sklearn-text').info.summary}" in lines


def test_listing_imports_no_training_library(tmp_path: Path) -> None:
    program = WITHOUT.replace("main()\n", "\ntry:\n    main()\nexcept SystemExit:\n    pass\n")
    assert potato(program=program).stderr.strip() == "[]"


def test_one_trainer_is_told_with_its_params() -> None:
    done = potato("sklearn-text")
    assert done.returncode == 0
    assert "    C (float, default none): Inverse strength of the regularisation" in done.stdout
    assert "text-embedding" not in done.stdout


def test_as_json() -> None:
    listed = {entry["name"]: entry for entry in json.loads(potato("--json").stdout)}
    assert list(listed) == registry.names()
    assert listed["sklearn-text"]["ready"] is True
    assert listed["sklearn-text"]["install"] is None


def test_a_trainer_that_nobody_has_ends_with_1_and_a_sentence() -> None:
    done = potato("sklearn-txt")
    assert done.returncode == 1
    assert done.stderr.startswith("potato: there is no trainer 'sklearn-txt'; there are sklearn-text, ")
