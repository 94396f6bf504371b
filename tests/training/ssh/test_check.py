"""The check of a host: a run's own steps, a line each, and nothing is left behind but the code."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import nvidia_smi
from lab import Lab, use_fakes
from machines import Account, Machine, lay
from nvidia_smi import Gpu
from potato.training.backends import open_backend
from ssh_scene import QUICK, REMOTE_DIR, error, scene, settings, ssh_lab
from sshd import ALIAS, Host

SMI = {"PATH": nvidia_smi.PATH}


@pytest.fixture
def checked(hosts: Callable[..., Host], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Lab, Host]:
    """A host whose shell prints something, and a lab with backends on it."""
    use_fakes(monkeypatch)
    host = hosts(machine=Machine(account=Account(files={".bashrc": "echo 'Welcome to \x1b[31mGPU'\n"})))
    wishes: dict[str, dict[str, Any]] = {
        ALIAS: {},
        "gpus": {"env": SMI},
        "much": {"env": SMI, "min_free_gpu_mb": 50000},
        "packed": {"packages": ["lonely"]},
        "elsewhere": {"remote_dir": "/etc/potato"},
    }
    lab = ssh_lab(tmp_path / "lab", {name: settings(host, **wish) for name, wish in wishes.items()})
    return lab, host


def test_the_command_line_reports_what_a_run_would_get(checked: tuple[Lab, Host]) -> None:
    lab, host = checked
    command = [sys.executable, "-m", "potato", "training", "check", ALIAS, "config.yaml", "--trainer", "fake"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=lab.folder, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    first, noise, folder, *_, gpu, trainer = done.stdout.splitlines()
    assert first.startswith(f"{ALIAS}: ssh to {ALIAS}") and "Python 3." in first
    assert "your shell prints this on" in noise and "Welcome to [31mGPU" in noise
    assert folder.startswith(f"/home/ada/{REMOTE_DIR} can be written")
    assert (gpu, trainer) == ("a run would get: no GPU: training on the CPU", "fake: ready")
    told = subprocess.run([*command, "--json"], capture_output=True, text=True, cwd=lab.folder, check=False)
    report = json.loads(told.stdout)
    assert (report["backend"], report["ok"]) == (ALIAS, True)
    assert [line for line in report["lines"] if "MB free" not in line] == [
        line for line in done.stdout.splitlines() if "MB free" not in line
    ]
    assert report["details"]["trainers"] == [{"name": "fake", "ok": True, "missing": [], "install": ""}]
    assert sorted(path.name for path in (host.home / REMOTE_DIR).iterdir()) in (["code"], ["code", "gpus"])


def test_gpus_are_listed_with_the_one_that_a_run_would_get(checked: tuple[Lab, Host]) -> None:
    lab, host = checked
    lay(host.home / nvidia_smi.FILE, nvidia_smi.program(Gpu(0, free=100), Gpu(1, free=30000, utilisation=7)))
    report = open_backend(lab.project, "gpus").check("fake")
    assert report.ok, report.lines
    assert any(
        line.startswith("GPU 1 ") and "30000 MB free of" in line and "7 % in use" in line for line in report.lines
    )
    assert report.details["chosen"] == [Gpu(1).uuid]
    assert [gpu["free_mb"] for gpu in report.details["gpus"]] == [100, 30000]
    refused = open_backend(lab.project, "much").check("fake")
    assert not refused.ok and "No GPU has 50000 MB free" in refused.lines
    assert sum(line.startswith("GPU ") for line in refused.lines) == 2, "the check lists them"
    assert refused.details["error"]["code"] == "no_gpu_free"


def test_a_trainer_that_nobody_has_and_a_folder_that_nobody_may_write_are_said(checked: tuple[Lab, Host]) -> None:
    lab, _ = checked
    report = open_backend(lab.project, ALIAS).check("nobody-s")
    assert not report.ok and "the trainer 'nobody-s' is not installed for" in report.lines[-1]
    report = open_backend(lab.project, "elsewhere").check("fake")
    assert not report.ok and report.details["error"]["code"] == "remote_dir_not_writable"
    assert "/etc/potato" in report.lines[-2] and "remote_dir" in report.lines[-1]


def test_packages_are_looked_for_and_nothing_is_installed(checked: tuple[Lab, Host]) -> None:
    lab, host = checked
    report = open_backend(lab.project, "packed").check("fake")
    assert report.ok, report.lines
    assert any("lonely will be made by the first run" in line for line in report.lines)
    assert not (host.home / REMOTE_DIR / "envs").exists()


def test_a_host_that_always_hangs_up_before_a_run_begins_is_not_asked_for_ever(checked: tuple[Lab, Host]) -> None:
    lab, host = checked
    lay(host.home / nvidia_smi.FILE, "#!/bin/sh\nkill -9 $PPID\n")
    with scene(lab, QUICK) as made:
        failure = error(made.run("gpus"))
        assert failure["message"].startswith(f"The connection to {ALIAS} was lost 4 times before the run began: ")
    assert host.log_ins() == 4
