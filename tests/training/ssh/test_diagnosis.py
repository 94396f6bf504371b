"""What ssh says last becomes a sentence, and each cause its own way out."""

from __future__ import annotations

import pytest

from potato.training.ssh import diagnosis
from potato.training.ssh.command import Destination
from potato.training.ssh.text import clean, clean_path, lines

GPU = Destination("gpu.example.org", port=36022)
CHANGED = b"""@@@@@@@@@@@\r
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r
Host key for [gpu.example.org]:36022 has changed and you have requested strict checking.\r
Host key verification failed.\r
"""


@pytest.mark.parametrize(
    ("stderr", "line", "hint"),
    [
        (b"me@gpu.example.org: Permission denied (publickey).\r\n", "Permission denied (publickey).", "must succeed"),
        (b"a@b: Permission denied (publickey,keyboard-interactive).\r\n", "Permission denied", "second factor"),
        (b"a@b: Permission denied (password).\r\n", "Permission denied (password).", "takes no keys, only password"),
        (
            b"ssh: connect to host 10.0.0.1 port 1: Connection refused\r\n",
            "connect to host 10.0.0.1 port 1: Connection refused",
            "ssh gpu.example.org true",
        ),
        (CHANGED, "Host key verification failed.", "ssh-keygen -R gpu.example.org"),
        (
            b"No ED25519 host key is known for [x]:1 and you have requested strict checking.\r\n"
            b"Host key verification failed.\r\n",
            "Host key verification failed.",
            "compare the fingerprint",
        ),
        (
            b"Connection timed out during banner exchange\r\nConnection to UNKNOWN port 65535 timed out\r\n",
            "Connection timed out during banner exchange",
            "must succeed",
        ),
        (
            b"kex_exchange_identification: read: Connection reset by peer\r\nConnection reset by 10.0.0.1 port 22\r\n",
            "Connection reset by 10.0.0.1 port 22",
            "MaxStartups",
        ),
        (b"Warning: Permanently added 'x' (ED25519) to the list of known hosts.\r\n", "without a word", "must succeed"),
        (b"Welcome, this is a banner\nof two lines\n", "of two lines", "must succeed"),
        (b"Connection closed by 10.0.0.1 port 22\r\nrc file prints this later\n", "Connection closed by 10.0.0.1", ""),
        (b"", "the connection ended without a word (exit code 255)", "must succeed"),
    ],
)
def test_ssh_s_last_line_is_kept_with_what_to_do(stderr: bytes, line: str, hint: str) -> None:
    error = diagnosis.failed(GPU, stderr, b"", 255)
    assert error.message.startswith("ssh to gpu.example.org failed: ")
    assert line in error.message
    assert hint in (error.hint or "")


def test_a_shell_that_takes_no_command_is_told_from_ssh() -> None:
    error = diagnosis.failed(GPU, b"", b"This account is currently not available.\n", 1)
    assert "This account is currently not available." in error.message
    assert "login shell" in (error.hint or "")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("a\x1b[31mb\r\nc\x00", "a [31mb c"),
        ("turn\u202ethis", "turn this"),
        (b"\xff\xfe no text", "�� no text"),
        ("\ud800 half", "half"),
        ("x" * 600, "x" * 499 + "…"),
        (None, "None"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_what_a_host_says_is_one_printable_line(said: object, shown: str) -> None:
    assert clean(said) == shown
    assert clean(said).isprintable()


def test_the_spaces_of_a_path_are_its_own() -> None:
    assert clean_path("/home/b  é/ x\x1b\n") == "/home/b  é/ x  "
    assert clean_path("/" + "x" * 20, 10) == "/" + "x" * 8 + "…"


def test_the_last_lines_of_a_text_are_shown() -> None:
    assert lines("a\n\n\x07\nb\rc\nd\x1bd\n", 100, 3) == ["b", "c", "d d"]
