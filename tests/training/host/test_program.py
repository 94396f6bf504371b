"""The program on a host: how it comes up, on odd machines too, and how it leaves."""

from __future__ import annotations

import errno
import os
import platform
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import missing
from host_scene import ChannelClosed, Failed, Host, NotStarted, code
from lab import wait_for
from potato.training.host import bootstrap, failures, greeting
from potato.training.worker import processes

Start = Callable[..., Host]


def old_python(version: str) -> str:
    installed = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}*/bin/python"))
    if not installed:
        missing(f"a Python {version}")
    return str(installed[0])


# Coming up


def test_hello(host: Start, tmp_path: Path) -> None:
    there = host()
    greeting = there.greeting
    assert greeting["host"] == os.uname().nodename
    assert greeting["home"] == str(tmp_path / "home")
    assert greeting["remote_dir"] == str(tmp_path / "home" / ".cache" / "potato-training")
    assert greeting["python"] == platform.python_version()
    assert abs(greeting["clock"] - time.time()) < 60
    assert greeting["free_mb"] > 0
    assert Path(greeting["remote_dir"]).stat().st_mode & 0o777 == 0o700
    assert list(Path(greeting["remote_dir"]).iterdir()) == [Path(greeting["remote_dir"], "code")]


def test_the_code_is_copied_once_and_anew_when_something_of_it_went(host: Start) -> None:
    first = host()
    assert not first.had_code
    folder = Path(first.remote_dir, "code", code()[0])
    assert host().had_code
    module = folder / "potato" / "training" / "host" / "program.py"
    zeros = b"\0" * module.stat().st_size  # as some file systems leave it when the power goes
    for damage in (module.unlink, lambda: module.write_bytes(zeros), (folder / ".sha256").unlink):
        damage()
        assert not host().had_code
        assert host().had_code
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name]


def test_nothing_else_is_needed(host: Start, tmp_path: Path) -> None:
    """No PATH, no locale, no home that the variable names, modules in the home that are named like Python's."""
    home = tmp_path / "home"
    home.mkdir()
    for name in ("json", "random", "struct", "potato"):
        (home / f"{name}.py").write_text("raise SystemExit(3)\n")
    there = host(login={"HOME": str(home), "PATH": ""}, env={"PYTHONPATH": ""}, shell="/bin/sh")
    assert there.greeting["ok"]
    assert there.call("gpus", gpus="auto")["text"] == "no GPU: training on the CPU"


def test_values_mean_themselves(host: Start, tmp_path: Path) -> None:
    """Whatever is in them, the shell makes nothing of it; only a home at the start is the home."""
    odd = 'it\'s $HOME `id` "x" \\ \n ! é * ~/x'
    env = {"ODD": odd, "BESIDE": "~/models", "EMPTY": ""}
    there = host(env=env)
    environ = Path(f"/proc/{there.process.pid}/environ").read_bytes().split(b"\0")
    assert f"ODD={odd}".encode() in environ
    assert f"BESIDE={tmp_path}/home/models".encode() in environ
    assert b"EMPTY=" in environ


def test_an_interpreter_in_the_home(host: Start, tmp_path: Path) -> None:
    (tmp_path / "home" / "my pythons").mkdir(parents=True)
    (tmp_path / "home" / "my pythons" / "py'thon").symlink_to(sys.executable)
    assert host("~/my pythons/py'thon").greeting["ok"]


@pytest.mark.parametrize("python", ["/nowhere/python3", "no-such-python", "/tmp", "~/nothing", "python3; true"])
def test_an_interpreter_that_is_not_there(host: Start, python: str) -> None:
    with pytest.raises(NotStarted) as caught:
        host(python)
    assert caught.value.code == 127
    assert "-NOPYTHON\n" in caught.value.noise


def test_an_interpreter_that_cannot_be_run(host: Start, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "broken").chmod(0o755)
    with pytest.raises(NotStarted) as caught:
        host(str(tmp_path / "broken"))
    assert caught.value.code in (2, 126, 127)
    assert "broken" in caught.value.stderr


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.7"])
def test_a_python_that_is_too_old_says_which_it_is(host: Start, version: str) -> None:
    with pytest.raises(NotStarted) as caught:
        host(old_python(version))
    assert f"-PY {version}." in caught.value.noise
    assert caught.value.stderr == ""


@pytest.mark.parametrize("nonce", ["", "a b", "$(id)", "a\n"])
def test_a_nonce_is_letters_and_digits(nonce: str) -> None:
    with pytest.raises(ValueError, match="nonce"):
        bootstrap.script(nonce, "python3", {})


@pytest.mark.parametrize("name", ["", "A B", "1A", "A=B", "A;id", "Ä"])
def test_a_variable_s_name_is_one(name: str) -> None:
    with pytest.raises(ValueError, match="no variable's name"):
        bootstrap.script("abc", "python3", {name: "x"})


# Folders and disks


def test_a_folder_that_cannot_be_written(host: Start, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Failed) as caught:
        host(remote_dir=str(tmp_path / "file" / "below"))
    assert caught.value.code == "remote_dir_not_writable"
    assert f"{tmp_path}/file/below cannot be written: " in caught.value.error
    with pytest.raises(Failed, match=r"Read-only file system|Permission denied|No such file") as caught:
        host(remote_dir="/proc/potato")
    assert "set remote_dir" in caught.value.hint


def test_a_folder_of_somebody_else_s_is_not_trusted_with_code(host: Start, tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a folder away")
    (tmp_path / "theirs" / "code").mkdir(parents=True)
    os.chown(tmp_path / "theirs" / "code", 12345, 12345)
    with pytest.raises(Failed, match="belongs to another account"):
        host(remote_dir=str(tmp_path / "theirs"))


def small_disk(folder: Path, kilobytes: int) -> None:
    """Mount a file system of this size on `folder`; the caller unmounts it."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        missing("the right to mount a file system")


@pytest.fixture
def full(tmp_path: Path) -> Any:
    """A folder on a disk of 4 MB."""
    folder = tmp_path / "small"
    small_disk(folder, 4096)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path, leave: int) -> None:
    room = os.statvfs(folder)
    (folder / "ballast").write_bytes(b"x" * (room.f_bavail * room.f_frsize - leave))


def test_a_full_disk_is_said_while_the_code_is_copied_and_by_hello(host: Start, full: Path) -> None:
    """remote 46"""
    fill(full, 100_000)
    with pytest.raises(Failed) as caught:
        host(remote_dir=str(full / "potato"))
    assert caught.value.code == "remote_disk_full"
    assert "another disk" in caught.value.hint
    (full / "ballast").unlink()
    host(remote_dir=str(full / "potato"))
    fill(full, 8192)
    there = host(remote_dir=str(full / "potato"), hello=False)
    with pytest.raises(Failed, match=f"^The disk that holds {full}/potato is full$") as caught:
        there.call("hello")
    assert caught.value.code == "remote_disk_full"


def test_a_used_up_quota_is_told_from_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(failures.CallFailed, match=r"^The disk quota of this account is used up at ") as caught:
        greeting.try_to_write(str(tmp_path))
    assert caught.value.code == "remote_disk_full"
    assert list(tmp_path.iterdir()) == []


# Calls


def test_a_call_that_nobody_knows_and_one_that_fails_end_nothing(host: Start) -> None:
    there = host()
    with pytest.raises(Failed, match="knows no call 'dance'") as caught:
        there.call("dance")
    assert caught.value.code == "unknown_call"
    with pytest.raises(Failed, match="the call tail failed: KeyError") as caught:
        there.call("tail")
    assert caught.value.code == "host_failed"
    wait_for(lambda: "KeyError" in there.stderr(), 60)
    assert there.call("hello")["ok"]


def test_the_first_program_is_small() -> None:
    assert len(bootstrap.script("a" * 32, "python3", {})) < 8192


# Leaving


def left(there: Host, *pids: int) -> bool:
    found = [processes.stat(pid) for pid in (there.process.pid, *pids)]
    there.process.poll()
    return not any(process is not None and process.lives for process in found)


def hanging(folder: Path) -> tuple[Path, Path]:
    """A program that never ends, with a child that never ends; the file in which they stand."""
    program, pids = folder / "hang", folder / "pids"
    program.write_text(f"#!/bin/sh\nsleep 600 &\necho $$ $! > {pids}\nwait\n")
    program.chmod(0o755)
    return program, pids


@pytest.mark.parametrize("call", ["", "gpus", "probe"])
@pytest.mark.parametrize("how", ["closed", signal.SIGTERM, signal.SIGHUP])
def test_it_leaves_with_the_connection_and_takes_its_children_along(
    host: Start, tmp_path: Path, call: str, how: Any
) -> None:
    program, pids = hanging(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "nvidia-smi").symlink_to(program)
    there = host(env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    children: list[int] = []
    if call:
        there.channel.send({"call": call, "python": str(program)})
        children = [int(pid) for pid in wait_for(lambda: pids.exists() and pids.read_text().split(), 60)]
    if how == "closed":
        for pipe in there.pipes[:2]:
            pipe.close()
    else:
        os.kill(there.process.pid, how)
    wait_for(lambda: left(there, *children), 60)
    assert there.stderr() == ""


def test_while_something_takes_long_the_server_hears_so(host: Start, tmp_path: Path) -> None:
    program, _ = hanging(tmp_path)
    there = host()
    with pytest.raises(Failed, match=r"did not answer within 7 seconds") as caught:
        there.call("probe", python=str(program), limit_s=7)
    assert caught.value.code == "probe_silent"
    assert len(there.progress) >= 1
    assert "can train with" in there.progress[0]["progress"]


def test_probe(host: Start, python38: str) -> None:
    there = host(python38)
    answer = there.call("probe", python=None, trainer="sklearn-text", device="cpu")
    assert answer["executable"] == there.executable
    assert answer["python"].startswith("3.8.")
    assert "strange" in [trainer["name"] for trainer in answer["trainers"]]
    with pytest.raises(Failed, match=r"^/nowhere/python was not found on "):
        there.call("probe", python="/nowhere/python")
    with pytest.raises(Failed, match=r"could not look for its packages: ") as caught:
        there.call("probe", python="/bin/false")
    assert caught.value.code == "probe_failed"


def test_its_umask_keeps_others_out(host: Start) -> None:
    there = host()
    for path in Path(there.remote_dir).rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_no_call_is_answered_when_nobody_is_there_any_more(host: Start) -> None:
    there = host()
    there.close()
    with pytest.raises((ChannelClosed, ValueError)):
        there.call("hello")
