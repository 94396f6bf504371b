"""The example of a trainer of one's own, as the page about it shows it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jobs import SOURCE, Item, Job, write_bundle
from potato.training.contract.exits import Exit

EXAMPLE = SOURCE.parent / "examples" / "own_trainer"


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """A folder with the example as pip would install it: its module, and its entry point."""
    info = tmp_path / "site" / "potato_commonest-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: potato-commonest\nVersion: 1.0\n", "utf-8")
    line = next(line for line in (EXAMPLE / "pyproject.toml").read_text("utf-8").splitlines() if ":Commonest" in line)
    (info / "entry_points.txt").write_text(f"[potato.trainers]\n{line.replace(chr(34), '')}\n", "utf-8")
    (tmp_path / "site" / "commonest.py").write_bytes((EXAMPLE / "commonest.py").read_bytes())
    return f"{SOURCE}:{tmp_path / 'site'}"


def rows() -> list[Item]:
    made = [Item(str(number), "text", "train", {"s": "b" if number % 3 else "a"}) for number in range(9)]
    return [*made, Item("asked", "text", "predict")]


def test_it_trains_saves_and_predicts(tmp_path: Path, installed: str) -> None:
    bundle = write_bundle(tmp_path / "bundle", rows(), {"s": ("nominal", ["a", "b"])})
    job = Job(tmp_path, bundle, "commonest", ["s"], {"rank": 2}).write()
    assert job.run(PYTHONPATH=installed) == Exit.FINISHED, job.stderr()
    [said] = job.predictions()
    assert (said.payload, said.confidence) == ("a", pytest.approx(1 / 3))
    assert json.loads((job.artifact() / "potato.json").read_text("utf-8"))["trainer"] == "commonest"


def test_it_is_listed(installed: str) -> None:
    command = [sys.executable, "-m", "potato", "trainers", "commonest"]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": installed}, check=True)
    assert done.stdout.startswith("commonest: ready\n")
