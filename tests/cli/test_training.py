"""`potato training`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    backends = {"gpu": {"type": "ssh", "host": "127.0.0.1", "port": 1}}
    return Lab(tmp_path / "lab", 5, model_training={"device": "cpu", "backends": backends})


def check(lab: Lab, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "potato", "training", "check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=lab.folder, check=False)


def test_check_local_says_the_device_and_the_trainers(lab: Lab) -> None:
    done = check(lab, "local", "config.yaml")
    assert done.returncode == 0
    assert done.stdout.startswith("local: this machine, CPU\n")
    assert "sklearn-text: ready" in done.stdout
    assert done.stderr == ""


def test_check_as_json_about_one_trainer(lab: Lab) -> None:
    done = check(lab, "local", "config.yaml", "--json", "--trainer", "sklearn-text")
    report = json.loads(done.stdout)
    assert report["ok"] is True
    assert report["backend"] == "local"
    assert report["lines"][-1] == "sklearn-text: ready"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["local", "config.yaml", "--trainer", "magic"], "there is no trainer 'magic'"),
        (["nowhere", "config.yaml"], "There is no backend 'nowhere'; the project has local, gpu"),
        (["gpu", "config.yaml"], "ssh to 127.0.0.1 failed: connect to host 127.0.0.1 port 1: Connection refused"),
        (["local", "nosuch.yaml"], "nosuch.yaml"),
    ],
)
def test_check_that_is_no_ends_with_1(lab: Lab, arguments: list[str], sentence: str) -> None:
    done = check(lab, *arguments)
    assert done.returncode == 1
    assert sentence in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
