"""Whatever goes wrong, a command says so in a sentence and a hint, and never shows a traceback."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import site_scenes as scenes
from potato.cli import main
from potato.cli.failures import named
from potato.cli.start import PortTaken, _listening
from potato.project import Project


def potato(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    """The lines that a command which fails writes to standard error."""
    monkeypatch.setattr(sys, "argv", ["potato", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    return capsys.readouterr().err.splitlines()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with a store."""
    return scenes.project(tmp_path)


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    asked = ["--data", "", "--question", "Good?", "--labels", "yes,no"]
    said = potato(monkeypatch, capsys, "init", tmp_path / "file" / "study", *asked)
    assert said[0] == f"potato: {tmp_path}/file/study: not a directory"
    assert "Look who owns that place" in said[1]


@pytest.mark.parametrize("target", ["nowhere/b.tar.gz", "file/b.tar.gz"])
def test_a_backup_that_cannot_be_written_is_named(
    target: str, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    [said] = potato(monkeypatch, capsys, "backup", project.file, tmp_path / target)
    assert re.fullmatch(rf"potato: {tmp_path}/{target} cannot be written: (No such file|Not a).+", said)


@pytest.mark.parametrize("command", [["backup"], ["export", "--out"]])
def test_nothing_is_put_in_the_place_of_a_device_or_a_pipe(
    command: list[str],
    project: Project,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    os.mkfifo(tmp_path / "pipe")
    name, *options = command
    said = potato(monkeypatch, capsys, name, project.file, *options, tmp_path / "pipe")
    assert said == [f"potato: {tmp_path}/pipe cannot be written: it is a device or a pipe, not a file"]
    assert (tmp_path / "pipe").is_fifo()


def test_a_folder_that_cannot_be_restored_into_is_named(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["potato", "backup", str(project.file), str(tmp_path / "b.tar.gz")])
    with pytest.raises(SystemExit):
        main()
    (tmp_path / "file").touch()
    said = potato(monkeypatch, capsys, "restore", tmp_path / "b.tar.gz", tmp_path / "file" / "study")
    assert f"{tmp_path}/file" in said[0].partition("cannot be brought back: ")[2]


@pytest.mark.sqlite("it spoils the file")
def test_a_store_that_sqlite_does_not_take_is_told(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project.output_dir / "potato.db").write_bytes(b"no database at all" * 100)
    said = potato(monkeypatch, capsys, "users", "list", project.file)
    assert said[0] == "potato: the project's store cannot be used: file is not a database"
    assert isinstance(named(sqlite3.OperationalError("database or disk is full")).hint, str)


def test_what_nobody_foresaw_is_kept_for_a_report(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr("potato.backup.save", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    said = potato(monkeypatch, capsys, "backup", project.file, tmp_path / "b.tar.gz")
    assert said[0] == "potato: the program met an error that it did not expect (ZeroDivisionError)"
    [report] = tmp_path.glob("potato-error-*.txt")
    assert str(report) in said[1]
    assert "in fail" in report.read_text("utf-8")
    assert report.stat().st_mode & 0o077 == 0


def test_a_folder_in_place_of_the_project_file_in_it_is_guessed(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project.file.rename(project.file.with_name("config.yaml"))
    folder = project.file.parent
    for command in ("start", "export"):
        said = potato(monkeypatch, capsys, command, folder)
        assert said == [f"potato: {folder} cannot be read: is a directory", f"Did you mean {folder}/config.yaml?"]


def test_nobody_at_the_terminal_is_asked_for_a_password(project: Project) -> None:
    command = [sys.executable, "-m", "potato", "users", "passwd", str(project.file), "mira"]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.splitlines() == [
        "potato: nobody is at the terminal to be asked for a password",
        "add --password-stdin",
    ]


def test_an_address_of_another_machine_is_not_blamed_on_the_port() -> None:
    with pytest.raises(PortTaken, match=r"cannot listen on 192\.0\.2\.1, port 8000: ") as told:
        _listening("192.0.2.1", 8000)
    assert told.value.hint == "--host takes an address of this machine."
