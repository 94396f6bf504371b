"""A run's logs and model files over the API."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import training_scenes as scenes
from potato.project import Project
from potato.store import Database
from potato.store.training.runs import Run, State
from potato.training.runs.folder import RunFolder
from potato.training.web import pieces
from potato.training.web.files import artifacts, size_text

API = "/admin/training/api"


@pytest.fixture
def run(database: Database, project: Project) -> Run:
    run = scenes.succeeded(1)
    with database.write() as connection:
        scenes.add(connection, run)
    folder = scenes.write_course(project, run.run_id, lines=["ünïcode"])
    (folder.artifacts / "sentiment").mkdir()
    (folder.artifacts / "sentiment" / "model.bin").write_bytes(b"\0\1\2")
    folder.stderr.write_text("a warning\n")
    return run


def test_the_log_is_text(client: TestClient, project: Project, run: Run) -> None:
    answer = client.get(f"{API}/runs/{run.run_id}/log")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.text == RunFolder.of(project, run.run_id).log.read_text()
    assert int(answer.headers["x-next-offset"]) == len(answer.content)


def test_stderr_is_given_beside_the_log(client: TestClient, run: Run) -> None:
    assert client.get(f"{API}/runs/{run.run_id}/log?file=stderr").text == "a warning\n"
    assert client.get(f"{API}/runs/{run.run_id}/log?file=agent").text == ""
    assert client.get(f"{API}/runs/{run.run_id}/log?file=../../config").status_code == 400


def test_the_tail_starts_with_a_whole_line(client: TestClient, project: Project, run: Run) -> None:
    answer = client.get(f"{API}/runs/{run.run_id}/log?tail=100")
    whole = RunFolder.of(project, run.run_id).log.read_text()
    assert whole.endswith(answer.text)
    assert answer.text.startswith("2026-")
    assert 0 < len(answer.text) < 100


def test_a_log_that_is_not_there_yet_is_empty(client: TestClient, database: Database) -> None:
    run = scenes.run(2, State.QUEUED)
    with database.write() as connection:
        scenes.add(connection, run)
    answer = client.get(f"{API}/runs/{run.run_id}/log")
    assert (answer.status_code, answer.text) == (200, "")


def test_a_model_file_is_downloaded_as_it_is(client: TestClient, run: Run) -> None:
    answer = client.get(f"{API}/runs/{run.run_id}/artifacts/sentiment/model.bin")
    assert answer.content == b"\0\1\2"
    assert "attachment" in answer.headers["content-disposition"]


@pytest.mark.parametrize(
    "path", ["nothing", "../spec.json", "%2e%2e/run.log", "..%2f..%2frun.log", "sentiment", "link"]
)
def test_only_model_files_are_given_out(client: TestClient, project: Project, run: Run, path: str) -> None:
    (RunFolder.of(project, run.run_id).artifacts / "link").symlink_to("/etc/hostname")
    answer = client.get(f"{API}/runs/{run.run_id}/artifacts/{path}")
    assert answer.status_code == 404


def test_files_that_go_while_they_are_listed_are_left_out(
    project: Project, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder.of(project, run.run_id)
    walk = os.walk

    def renamed_meanwhile(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
        for at, folders, names in walk(root):
            yield at, folders, [*names, "weights.part"]

    monkeypatch.setattr(os, "walk", renamed_meanwhile)
    assert [file.path for file in artifacts(folder)] == ["sentiment/model.bin"]
    shutil.rmtree(folder.path)
    assert artifacts(folder) == []


def test_a_growing_text_is_read_in_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_text("one\ntwo")
    first = pieces.read_on(path, 0)
    assert (first.text, first.next) == ("one\n", 4)
    path.write_text("one\ntwo\n")
    assert pieces.read_on(path, first.next).text == "two\n"
    assert pieces.read_on(path, 8).text == ""
    assert pieces.read_on(tmp_path / "absent", 5) == pieces.Text("", 5)


def test_an_endless_line_comes_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 4)
    path = tmp_path / "run.log"
    path.write_text("0123456789")
    first = pieces.read_on(path, 0)
    assert (first.text, first.next, first.more) == ("0123", 4, True)


@pytest.mark.parametrize(("size", "text"), [(0, "0 B"), (999, "999 B"), (3_456_789, "3.5 MB"), (120_000_000, "120 MB")])
def test_sizes_are_told_in_a_fitting_unit(size: int, text: str) -> None:
    assert size_text(size) == text
