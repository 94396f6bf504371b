"""The example project: its files fit each other, and `make demo` goes all the way."""

from __future__ import annotations

import json
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
REVIEWS = EXAMPLES / "reviews"


def lines(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines."""
    for line in file.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A fresh copy of the example project."""
    return Path(shutil.copytree(REVIEWS, tmp_path / "reviews", ignore=shutil.ignore_patterns("annotation_output")))


def demo(project: Path, *options: str, port: int = 0) -> list[str]:
    """The command line that `make demo` runs, on another copy of the project and, unless told, a free port."""
    return [sys.executable, str(EXAMPLES / "demo.py"), "--project", str(project), "--port", str(port), *options]


def test_no_id_and_no_text_stands_twice() -> None:
    reviews = list(lines(REVIEWS / "data" / "reviews.jsonl"))
    assert len({row["id"] for row in reviews}) == len({row["text"].lower() for row in reviews}) == len(reviews) > 300


def test_every_label_belongs_to_a_review_and_is_given_once() -> None:
    ids = {row["id"] for row in lines(REVIEWS / "data" / "reviews.jsonl")}
    labels = list(lines(REVIEWS / "labels.jsonl"))
    assert {row["id"] for row in labels} < ids
    assert len({(row["id"], row["annotator"]) for row in labels}) == len(labels)


def test_the_example_passes_strict_validation() -> None:
    command = [sys.executable, "-m", "potato", "validate", "--strict", str(REVIEWS / "config.yaml")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.computes
def test_the_demo_ends_with_a_good_model_and_suggestions(project: Path) -> None:
    result = subprocess.run(demo(project, "--once"), capture_output=True, text=True, timeout=240, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    score = re.search(r"macro F1 (\d\.\d+) \(95 % interval", result.stdout)
    baseline = re.search(r"commonest label would get (\d\.\d+)", result.stdout)
    suggestions = re.search(r"(\d+) suggestions now wait", result.stdout)
    assert score and baseline and suggestions, result.stdout
    assert float(score[1]) > 0.7 > float(baseline[1])
    assert int(suggestions[1]) > 20
    assert any((project / "annotation_output" / "training" / "runs").iterdir())


@pytest.mark.computes
def test_the_demo_serves_until_ctrl_c_and_can_be_repeated(project: Path) -> None:
    for _ in range(2):
        with subprocess.Popen(demo(project), stdout=subprocess.PIPE, text=True) as shown:
            assert shown.stdout is not None
            seen = []
            for line in shown.stdout:
                seen.append(line)
                if "Ctrl-C stops the server" in line:
                    shown.send_signal(signal.SIGINT)
            assert shown.wait(60) == 0, "".join(seen)
        assert "Potato has stopped" in seen[-1]


def test_the_demo_says_why_the_server_did_not_start(project: Path) -> None:
    (project / "config.yaml").write_text("annotation_task_name: [", encoding="utf-8")
    result = subprocess.run(demo(project, "--once"), capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert "config.yaml" in result.stderr
    assert "Traceback" not in result.stderr


def test_the_demo_never_takes_another_server_for_its_own(project: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        command = demo(project, "--once", port=other.getsockname()[1])
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 1
    assert "address already in use" in result.stderr
    assert "Importing" not in result.stdout
