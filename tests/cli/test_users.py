"""`potato users`, as a person uses it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from makers import make_project, texts, write_rows


def users(folder: Path, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "potato", "users", words[0], "config.yaml", *words[1:]]
    return subprocess.run(command, cwd=folder, input=said, capture_output=True, text=True, timeout=120, check=False)


def test_annotators_are_added_and_given_ways_in(tmp_path: Path) -> None:
    write_rows(tmp_path, texts(1))
    make_project(tmp_path, login={"type": "link"})
    assert users(tmp_path, "add", "mira").stdout == "mira was added.\n"
    link = users(tmp_path, "link", "mira", "--url", "https://potato.example.org/study/")
    assert link.stdout.startswith("https://potato.example.org/study/enter#")
    assert users(tmp_path, "passwd", "mira", "--password-stdin", said="a long password\n").returncode == 0
    assert users(tmp_path, "admin", "mira").stdout == "mira is an admin.\n"
    assert users(tmp_path, "list").stdout == "mira\tpassword, link, admin\t0 done, 0 skipped\n"
    assert users(tmp_path, "revoke", "mira").returncode == 0
    assert users(tmp_path, "list").stdout == "mira\t-\t0 done, 0 skipped\n"
    for words, said in (
        (("add", "mira"), "there is an annotator 'mira' already"),
        (("link", "bob"), "there is no annotator 'bob'"),
        (("admin", "mira"), "mira has no password, and admins sign in with one"),
        (("passwd", "mira", "--password-stdin"), "a password has 8 to 1,000 characters"),
    ):
        done = users(tmp_path, *words, said="short\n")
        assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (1, True, False), done.stderr
