"""Whether a machine ends what a job leaves running when its log-in ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from potato.training.host.lingering import lingering

KILLS = "KillUserProcesses"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "run/systemd/system").mkdir(parents=True)
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, None),
        ({"etc/systemd/logind.conf": "[Login]\n#KillUserProcesses=yes\n"}, None),
        ({"etc/systemd/logind.conf": "[Login]\nKillUserProcesses=no\n"}, None),
        ({"etc/systemd/logind.conf": "[Login]\nKillUserProcesses = yes\n"}, KILLS),
        ({"usr/lib/systemd/logind.conf.d/50-site.conf": "[Login]\nKillUserProcesses=1\n"}, KILLS),
        (
            {
                "etc/systemd/logind.conf": "[Login]\nKillUserProcesses=yes\n",
                "etc/systemd/logind.conf.d/9.conf": "[Login]\nKillUserProcesses=no\n",
            },
            None,
        ),
    ],
)
def test_systemd_s_files(root: Path, files: dict[str, str], said: str | None) -> None:
    """remote 28"""
    for path, text in files.items():
        write(root, path, text)
    assert lingering("ada", str(root)) == said


def test_who_is_excepted(root: Path) -> None:
    write(root, "etc/systemd/logind.conf", "[Login]\nKillUserProcesses=yes\n")
    write(root, "var/lib/systemd/linger/ada", "")
    assert lingering("ada", str(root)) is None
    assert lingering("root", str(root)) is None
    assert lingering("bob", str(root)) == KILLS


def test_a_machine_without_systemd(tmp_path: Path) -> None:
    write(tmp_path, "etc/systemd/logind.conf", "[Login]\nKillUserProcesses=yes\n")
    assert lingering("ada", str(tmp_path)) is None
