"""`potato init`: what it writes runs as it stands."""

from __future__ import annotations

import csv
import os
import pty
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
from potato.project.starting import KINDS
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
        (["--data", "", "--question", "x", "--type", "likert", "--size", "12"], AssertionError),
    ],
)
def test_wrong_answers_write_nothing(tmp_path: Path, arguments: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        init(str(tmp_path / "p"), *arguments)
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_every_type_of_question_makes_a_project_without_findings(kind: str, tmp_path: Path) -> None:
    labels = ["--labels", "one,two"] if KINDS[kind].labels else []
    init(str(tmp_path), "--data", "", "--question", "What?", "--type", kind, *labels)
    loaded = load(tmp_path / "config.yaml")
    assert loaded.findings == []
    assert loaded.project is not None
    config = loaded.project.config
    assert config.annotation_schemes[0].annotation_type == kind
    unsure = kind in ("slider", "number", "text")  # models say no confidence there, so that none would reach a floor
    assert config.model_training.writeback.min_confidence == (0 if unsure else 0.6)
    database = Database(loaded.project.database_url)
    database.migrate()
    assert load_items(loaded.project, database).added == 3
    database.close()


def test_one_label_is_enough_to_mark_text(tmp_path: Path) -> None:
    init(str(tmp_path), "--data", "", "--question", "Which names?", "--type", "span", "--labels", "name")
    assert load(tmp_path / "config.yaml").findings == []


def test_the_fields_of_a_pair_are_guessed(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,Prompt,Answer_1,Answer_2,text\n1,p,one,two,t\n2,p,three,four,u\n")
    asked = ["--data", str(tmp_path / "x.csv"), "--question", "Which?", "--type", "pairwise"]
    init(str(tmp_path / "p"), *asked)
    project = load(tmp_path / "p" / "config.yaml").project
    assert project is not None
    question = project.config.annotation_schemes[0]
    assert (question.field_a, question.field_b) == ("Answer_1", "Answer_2")
    (tmp_path / "x.csv").write_text("id,text\n1,p\n")
    with pytest.raises(NotGuessed, match=r"no two fields of x\.csv look like a pair; its fields are 'id', 'text'"):
        init(str(tmp_path / "q"), *asked)


def test_a_column_of_texts_alone_is_not_taken_for_ids(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("text\none\ntwo\n")
    with pytest.raises(NotGuessed, match=r"no field of x\.csv looks like ids") as told:
        init(str(tmp_path / "p"), "--data", str(tmp_path / "x.csv"), *ASKED)
    assert "add a column" in str(told.value.hint)


def test_a_spreadsheet_is_to_be_saved_as_csv(tmp_path: Path) -> None:
    (tmp_path / "x.xlsx").write_bytes(b"PK\3\4")
    with pytest.raises(NotGuessed) as told:
        init(str(tmp_path / "p"), "--data", str(tmp_path / "x.xlsx"), *ASKED)
    assert "save it as CSV" in str(told.value.hint)


def test_a_person_is_asked_again_until_the_answer_can_be_used(tmp_path: Path) -> None:
    """At a real terminal: no file, no labels, then what will do."""
    answers = ["nowhere.csv", "", "Good?", "only one", "yes, no"]
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "potato", "init", str(tmp_path / "p")]
    with subprocess.Popen(
        command, stdin=follower, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as asking:
        os.write(leader, "".join(f"{answer}\n" for answer in answers).encode())
        said, _ = asking.communicate(timeout=60)
    os.close(leader)
    os.close(follower)
    assert asking.returncode == 0, said
    assert "potato: nowhere.csv is not there\n" in said
    assert "potato: there must be two labels or more, each another\n" in said
    assert said.count("Which file holds your texts?") == 2
    assert "[]" not in said
    project = load(tmp_path / "p" / "config.yaml").project
    assert project is not None
    assert [label.name for label in project.config.annotation_schemes[0].labels] == ["yes", "no"]


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
