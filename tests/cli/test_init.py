"""`potato init`: what it writes runs as it stands."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from potato.cli import build
from potato.cli.init import AlreadyThere, NotAsked, WrongAnswer
from potato.items.guessing import NotGuessed
from potato.items.loading import load_items
from potato.project.loading import load
from potato.store import Database

ASKED = ["--question", 'Good, "bad" or \\ neither?', "--labels", "good,bad: very,#neither"]


def init(*arguments: str) -> str:
    """Run the command; what it prints. Raises what it raises."""
    answer = CliRunner().invoke(build(), ["init", *arguments])
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    assert answer.exit_code == 0, answer.output
    return answer.output


def test_the_sample_project_has_no_findings_and_loads(tmp_path: Path) -> None:
    said = init(str(tmp_path / "study"), "--data", "", *ASKED)
    loaded = load(tmp_path / "study" / "config.yaml")
    assert loaded.project is not None
    assert loaded.findings == []
    assert "potato start" in said
    question = loaded.project.config.annotation_schemes[0]
    assert question.description == 'Good, "bad" or \\ neither?'
    assert [label.name for label in question.labels] == ["good", "bad: very", "#neither"]
    database = Database(loaded.project.database_url)
    database.migrate()
    assert load_items(loaded.project, database).added == 3
    database.close()


def test_the_key_is_new_each_time_and_for_its_owner_alone(tmp_path: Path) -> None:
    keys = set()
    for name in ("a", "b"):
        init(str(tmp_path / name), "--data", "", *ASKED)
        file = tmp_path / name / "config.yaml"
        assert file.stat().st_mode & 0o077 == 0
        project = load(file).project
        assert project is not None and project.config.admin_api_key is not None
        keys.add(project.config.admin_api_key.get_secret_value())
    assert len(keys) == 2


def test_the_fields_of_a_data_file_are_guessed(tmp_path: Path) -> None:
    with (tmp_path / "mails.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["sent", "number", "subject line", "what they wrote"])
        rows.writerows([["monday", n, "hello", f"a much longer text {n}"] for n in range(5)])
    init(str(tmp_path), "--data", str(tmp_path / "mails.csv"), *ASKED)
    project = load(tmp_path / "config.yaml").project
    assert project is not None
    assert project.config.data_files == ["mails.csv"]
    assert project.config.item_properties.id_key == "number"
    assert project.config.item_properties.text_key == "what they wrote"


def test_a_file_without_ids_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,one\n1,two\n1,two\n")
    with pytest.raises(NotGuessed, match=r"no field of x.csv looks like ids .*'a', 'b'"):
        init(str(tmp_path / "p"), "--data", str(tmp_path / "x.csv"), *ASKED)
    assert not (tmp_path / "p" / "config.yaml").exists()


def test_a_project_is_never_overwritten(tmp_path: Path) -> None:
    init(str(tmp_path), "--data", "", *ASKED)
    before = (tmp_path / "config.yaml").read_bytes()
    with pytest.raises(AlreadyThere):
        init(str(tmp_path), "--data", "", *ASKED)
    assert (tmp_path / "config.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--data", "nowhere.csv", *ASKED], WrongAnswer),
        (["--data", "", "--question", "x", "--labels", "one"], WrongAnswer),
        (["--data", "", "--question", "x", "--labels", "a,a"], WrongAnswer),
        (["--data", "", "--question", " ", "--labels", "a,b"], WrongAnswer),
        (["--data", "", "--question", "x", "--labels", "a,b", "--type", "drawing"], WrongAnswer),
        (["--data", "", "--question", "x"], NotAsked),
    ],
)
def test_wrong_answers_write_nothing(tmp_path: Path, arguments: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        init(str(tmp_path / "p"), *arguments)
    assert not (tmp_path / "p").exists()


def test_a_likert_question_needs_no_labels(tmp_path: Path) -> None:
    init(str(tmp_path), "--data", "", "--question", "How good?", "--type", "likert", "--size", "7")
    project = load(tmp_path / "config.yaml").project
    assert project is not None
    assert project.config.annotation_schemes[0].size == 7


def test_nobody_at_the_terminal_is_said_in_a_sentence(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "potato", "init", str(tmp_path / "p")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 1
    assert ran.stderr.splitlines() == [
        "potato: --data is missing, and nobody is at the terminal to be asked",
        "add --data",
    ]
