"""Machines for tests, on this one: a file system seen by nobody else, with a user and an interpreter, without Potato.

A machine is a mount namespace. Its `/etc/passwd`, homes and `/tmp` are its own, and folders that only root may enter on
this machine are open there as far as the interpreter needs it. Nothing of this machine itself is changed, several test
processes do not meet, and all of it is gone with the last process that lives there.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conftest import ROOT, missing
from potato.training.worker import processes

FAKES = Path(__file__).parent / "fakes"
PYTHON = os.path.normpath(sys.executable)
"""The interpreter that runs this, with the trainers' packages; every machine has it at the same path."""
_made = iter(range(10**6))


@dataclass(frozen=True)
class Account:
    """The machine's unprivileged user. `files` are laid into the home: path → text; a script can be executed."""

    name: str = "ada"
    home: str = "/home/ada"
    shell: str = "/bin/bash"
    files: Mapping[str, str] = field(default_factory=dict)
    home_mb: int | None = None
    """The home is a file system of this size."""
    expired: bool = False
    """The password must be changed before anything else."""


@dataclass(frozen=True)
class Machine:
    """What a machine is like, beside its account."""

    account: Account = field(default_factory=Account)
    tmp_read_only: bool = False
    shown: Sequence[Path] = ()
    """Folders of this machine that must be there too, the tests' own and the interpreter's apart."""
    hidden: Sequence[Path] = ()
    """Folders that are empty there."""
    network: bool = False
    """A network of its own, which a cable leads to."""


class Running:
    """A machine that is there. `root` is its file system, seen from here."""

    def __init__(self, machine: Machine, folder: Path, files: Mapping[str, str]) -> None:
        self.account = machine.account
        self.has_network = machine.network
        self.folder = folder
        self.uid = 1_000_000 + os.getpid() * 64 + next(_made) % 64
        """Of this test's process alone, so that what runs as this user runs for this test."""
        _lay_out(folder, self.account, self.uid, {**files, **self.account.files})
        command = ["unshare", "--mount", *(["--net"] if machine.network else []), "sh", "-euc", self._script(machine)]
        self._holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._holder.stdout is not None
        if self._holder.stdout.readline() != "ready\n":
            self._holder.wait(30)
            missing("a mount namespace (the tests must run as root, and with Linux's mount namespaces)")
        self.pid = self._holder.pid
        self.root = Path(f"/proc/{self.pid}/root")
        self.home = self.root / self.account.home.lstrip("/")

    def command(self, *command: str, user: bool = False) -> list[str]:
        """A command line that runs `command` there, as root or as the user."""
        there = ["nsenter", f"--target={self.pid}", "--mount", "--net", "--"]
        become = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"] if user else []
        return [*there, *become, *command]

    def run(self, *command: str, user: bool = False) -> str:
        """Run a command there; what it prints. It must succeed."""
        whole = self.command(*command, user=user)
        return subprocess.run(whole, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, text=True).stdout

    def spawn(self, *command: str, log: Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start a service there, as root. It ends with this process."""
        with log.open("ab") as output:
            return subprocess.Popen(
                self.command("setpriv", "--pdeathsig=KILL", *command),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=None if env is None else dict(env),
            )

    def processes(self) -> dict[int, str]:
        """What runs as the user there, sshd's own part apart: pid → command line."""
        return {pid: line for pid in owned_by(self.uid) if (line := command_line(pid)) and not line.startswith("sshd:")}

    def close(self) -> None:
        """End whatever runs as the user, and let go of the file system."""
        deadline = time.monotonic() + 30
        while left := owned_by(self.uid):
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert time.monotonic() < deadline, left
            time.sleep(0.01)
        self._holder.communicate()

    def _script(self, machine: Machine) -> str:
        """Mounts all, then waits until stdin is closed."""
        home, size = self.account.home, self.account.home_mb
        lines = list(_views(self.folder, [*_needed(), self.folder, *machine.shown]))
        lines += [f"mount -t tmpfs -o mode=755 tmpfs {_q(path)}" for path in machine.hidden]
        lines += [
            f"mount --bind {_q(self.folder / 'etc' / name)} /etc/{name}" for name in ("passwd", "group", "shadow")
        ]
        lines += ["mkdir /run/sshd", f"mkdir -p {_q(home)}"]
        if size is not None:
            lines.append(f"mount -t tmpfs -o mode=700,size={size}m tmpfs {_q(home)}")
        else:
            lines.append(f"mount --bind {_q(self.folder / 'home')} {_q(home)}")
        lines += [f"cp -a {_q(self.folder / 'skeleton')}/. {_q(home)}", f"chown -R {self.uid}:{self.uid} {_q(home)}"]
        if machine.tmp_read_only:
            lines.append("mount -o remount,ro /tmp")
        return "\n".join([*lines, "echo ready", "exec cat"])


def _q(path: Path | str) -> str:
    return shlex.quote(str(path))


def _needed() -> list[Path]:
    return [Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), FAKES]


def _views(folder: Path, shown: Sequence[Path]) -> Iterator[str]:
    """Cover what is private to this machine, and the project's own source, and show in it only what is needed."""
    covers = _outermost([ROOT, Path("/home"), Path("/tmp"), Path("/run"), *map(_closed_above, shown)])
    inside = [path for path in _outermost(shown) if any(path.is_relative_to(cover) for cover in covers)]
    for number, path in enumerate(inside):
        yield f"mkdir -p {_q(folder / 'stash' / str(number))}"
        yield f"mount --bind {_q(path)} {_q(folder / 'stash' / str(number))}"
    yield f"exec 9<{_q(folder / 'stash')}"  # reached through this, once its own path is covered
    for cover in covers:
        mode = "1777" if cover == Path("/tmp") else "755"
        yield f"mount -t tmpfs -o mode={mode} tmpfs {_q(cover)}"
    for number, path in enumerate(inside):
        yield f"mkdir -p {_q(path)}; mount --no-canonicalize --bind /proc/self/fd/9/{number} {_q(path)}"
    yield "exec 9<&-"


def _closed_above(path: Path) -> Path:
    """The outermost folder above `path` that not everybody may enter; else `path`'s own, for which nothing is done."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & 0o001:
            return folder
    return ROOT


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Without those that lie in another."""
    return sorted({path for path in paths if not any(other in path.parents for other in paths)})


def _lay_out(folder: Path, account: Account, uid: int, files: Mapping[str, str]) -> None:
    for name in ("etc", "home", "skeleton"):
        (folder / name).mkdir()
    changed = 0 if account.expired else 19000
    lines = {
        "passwd": f"{account.name}:x:{uid}:{uid}::{account.home}:{account.shell}\n",
        "group": f"{account.name}:x:{uid}:\n",
        "shadow": f"{account.name}:*:{changed}:0:99999:7:::\n",
    }
    for name, line in lines.items():
        (folder / "etc" / name).write_text(Path("/etc", name).read_text("utf-8") + line, "utf-8")
    for name, text in files.items():
        lay(folder / "skeleton" / name, text)
    (folder / "skeleton").chmod(0o700)


@functools.cache
def installed(version: str) -> Path:
    """A real Python of that version, such as `3.8`."""
    kept = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}"))
    for candidate in (shutil.which(f"python{version}"), *kept):
        if candidate and subprocess.run([candidate, "-V"], capture_output=True, check=False).returncode == 0:
            return Path(candidate).resolve()
    missing(f"a Python {version}")
    raise AssertionError


def lay(path: Path, text: str) -> Path:
    """Write a file with its folders; one that begins with `#!` can be executed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755 if text.startswith("#!") else 0o644)
    return path


def owned_by(uid: int) -> list[int]:
    """The processes of a user that live."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                status = (folder / "status").read_text("utf-8", "replace")
                if f"\nUid:\t{uid}\t" in status:  # a process that may not be dumped has a folder of root's
                    found.append(int(folder.name))
    return [pid for pid in found if (there := processes.stat(pid)) is not None and there.lives]


def command_line(pid: int) -> str:
    """Its command line; empty where it is gone."""
    try:
        raw = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()


@contextlib.contextmanager
def running(machine: Machine, files: Mapping[str, str]) -> Iterator[Running]:
    """A machine, with these files in the home, until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="potato-machine-"))
    folder.chmod(0o755)
    there = None
    try:
        there = Running(machine, folder, files)
        yield there
    finally:
        if there is not None:
            there.close()
        shutil.rmtree(folder)
