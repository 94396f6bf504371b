"""A real sshd on a machine for tests, and a client that knows it by an alias.

`ssh` is the system's own: a first entry of `PATH` only has it read a configuration of the test's instead of the
account's. What runs is started by the test, listens on loopback, and is gone after it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

from cables import Cable
from conftest import missing
from machines import Machine, Running, command_line, running
from potato.training.worker import processes

ALIAS = "gpu-server"
USUAL = Machine()
_ports = count(20000)
SETTINGS = """\
PidFile none
UsePAM no
UseDNS no
PasswordAuthentication no
KbdInteractiveAuthentication no
PrintMotd no
PrintLastLog no
MaxStartups 100:30:200
LogLevel VERBOSE
"""


class Client:
    """What the account that runs the server has in `~/.ssh`: a key and aliases."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder / "id_ed25519"
        self.config = folder / "config"
        self._ssh = shutil.which("ssh") or missing("ssh")
        make_key(self.key)
        self.config.touch()
        wrapper = folder / "bin" / "ssh"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec {self._ssh} -F {self.config} "$@"\n', "ascii")
        wrapper.chmod(0o755)

    @property
    def path(self) -> str:
        """A `PATH` with this client first."""
        return f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"

    def name(self, alias: str, *options: str) -> None:
        """Let `alias` mean these options, before whatever it meant."""
        lines = [f"Host {alias}", *(f"  {option}" for option in options)]
        self.config.write_text("\n".join(lines) + "\n" + self.config.read_text("utf-8"), "utf-8")

    def ssh(self, *arguments: str, limit: float = 60) -> subprocess.CompletedProcess[str]:
        """Run this client by hand."""
        command = [str(self.folder / "bin" / "ssh"), "-o", "BatchMode=yes", *arguments]
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit, check=False
        )

    def living(self) -> list[int]:
        """The clients that live: their pids."""
        mark = f"-F {self.config} "
        pids = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
        found = [pid for pid in pids if mark in command_line(pid) and "/bin/sh" not in command_line(pid)]
        return [pid for pid in found if (there := processes.stat(pid)) is not None and there.lives]

    def send(self, number: signal.Signals) -> int:
        """Signal every client that lives; how many there were."""
        pids = self.living()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return len(pids)


class Host:
    """A machine with sshd, which `client` knows as `alias`."""

    def __init__(self, there: Running, client: Client, alias: str, settings: Sequence[str]) -> None:
        self.cable = Cable(there) if there.has_network else None
        self.address = self.cable.address if self.cable else loopback()
        self.there = there
        self.client = client
        self.alias = alias
        self.home = there.home
        self.known_hosts = client.folder / f"known_hosts.{alias}"
        self.port = next(_ports)
        self.log = there.folder / "sshd.log"
        given = {line.split()[0] for line in settings}  # of some keywords, sshd takes the last line
        self._settings = [*settings, *(line for line in SETTINGS.splitlines() if line.split()[0] not in given)]
        self._host_key = there.folder / "host_key"
        self._service: subprocess.Popen[bytes] | None = None
        make_key(self._host_key)
        self.up()
        self.also(alias)
        self.be_known()

    def also(self, alias: str, *options: str, key: Path | None = None) -> str:
        """Let the client know this host by another name too, with these options first; that name."""
        where = (f"HostName {self.address}", f"Port {self.port}", f"User {self.there.account.name}")
        keys = (f"IdentityFile {key or self.client.key}", "IdentitiesOnly yes", "IdentityAgent none")
        known = (f"UserKnownHostsFile {self.known_hosts}", "GlobalKnownHostsFile /dev/null")
        self.client.name(alias, *options, *where, *keys, *known)
        return alias

    def up(self) -> None:
        """Let sshd listen; at the same place each time."""
        self._start()
        deadline = time.monotonic() + 60
        while (probe := self.greeted()) is None:
            said = self.log.read_text("utf-8", "replace")
            assert self._service is not None and self._service.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.01)
        probe.close()

    def down(self) -> None:
        """Nobody can log in any more; whoever is logged in stays."""
        if self._service is not None:
            self._service.kill()
            self._service.wait(30)
            self._service = None

    def be_known(self, key: Path | None = None) -> None:
        """Have the client know this host by its key, or wrongly by another."""
        public = (key or self._host_key).with_suffix(".pub").read_text("ascii").split()[:2]
        self.known_hosts.write_text(f"[{self.address}]:{self.port} {' '.join(public)}\n", "ascii")

    def log_ins(self) -> int:
        """How often somebody has logged in."""
        return self.log.read_text("utf-8", "replace").count("Accepted publickey for")

    def sessions(self) -> list[int]:
        """The processes of sshd that serve somebody who is logged in."""
        pids = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
        found = [pid for pid in pids if command_line(pid).startswith(f"sshd: {self.there.account.name}")]
        return [pid for pid in found if self._is_mine(pid)]

    def _is_mine(self, pid: int) -> bool:
        try:
            return str(self.there.folder) in Path(f"/proc/{pid}/mountinfo").read_text("utf-8", "replace")
        except OSError:  # it has ended meanwhile
            return False

    def send(self, number: signal.Signals) -> int:
        """Signal every process of sshd that serves a session (KILL: cut it); how many there were."""
        pids = self.sessions()
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return len(pids)

    def close(self) -> None:
        """End sshd and every session."""
        self.down()
        self.send(signal.SIGKILL)

    def _start(self) -> None:
        config = self.there.folder / "sshd_config"
        lines = [f"ListenAddress {self.address}\nPort {self.port}\nHostKey {self._host_key}", *self._settings]
        config.write_text("\n".join(lines) + "\n", "utf-8")
        sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin") or missing("sshd")
        self._service = self.there.spawn(sshd, "-D", "-e", "-f", str(config), log=self.log)

    def greeted(self) -> socket.socket | None:
        """A connection to sshd that it has greeted; None where nobody listens, or it turns the connection away."""
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            probe = stack.enter_context(socket.create_connection((self.address, self.port), 30))
            if probe.recv(4) == b"SSH-":
                stack.pop_all()
                return probe
        return None


def loopback() -> str:
    """An address of loopback that this process alone listens on, so that nobody else can be met there."""
    pid = os.getpid()
    return f"127.{64 + (pid >> 16)}.{pid >> 8 & 255}.{pid & 255}"


def make_key(path: Path, passphrase: str = "") -> Path:
    """A new key pair; the private one's path."""
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", path.name, "-f", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return path


@contextlib.contextmanager
def client() -> Iterator[Client]:
    """A client that knows nobody yet."""
    folder = Path(tempfile.mkdtemp(prefix="potato-ssh-"))
    try:
        yield Client(folder)
    finally:
        shutil.rmtree(folder)


@contextlib.contextmanager
def host(client: Client, *, alias: str = ALIAS, sshd: Sequence[str] = (), machine: Machine = USUAL) -> Iterator[Host]:
    """A machine with a real sshd until the block ends. `sshd` are lines for its configuration; they win."""
    public = client.key.with_suffix(".pub").read_text("ascii")
    with running(machine, {".ssh/authorized_keys": public}) as there:
        made = Host(there, client, alias, sshd)
        try:
            yield made
        finally:
            made.close()
