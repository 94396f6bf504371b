"""A served lab whose backends are a real cluster behind a real login node, for tests in which the server is killed."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import relay
import slurm_cluster
import sshd
from agent_scene import API, Served
from lab import use_fakes
from machines import Running
from slurm_cluster import Cluster
from ssh_scene import REMOTE_DIR, jobs_there, settings, ssh_lab
from sshd import Host

CLUSTER, HELD, SLOW, BRIEF = "cluster", "held", "slow", "brief"
LIMIT = 120.0
RATE = 300_000
"""Bytes a second on the way to `SLOW`: a model is on its way for seconds."""
RECONNECT_S = 3
"""How long a job of `BRIEF` goes on without its server."""
SBATCH = """\
#!/bin/sh
hold() { touch "$HOME/hold/$1.reached"; while [ -e "$HOME/hold/$1" ]; do sleep 0.05; done; }
[ -e "$HOME/hold/before" ] && hold before
answer=$(%(real)s "$@") || exit 1
[ -e "$HOME/hold/after" ] && hold after
echo "$answer"
"""
"""`sbatch` that waits before it submits, or before it says what it has submitted, while a file is there."""


def backend(host: Host, cluster: Cluster, **more: Any) -> dict[str, Any]:
    """The cluster as a backend of a project."""
    env = {"SLURM_CONF": str(cluster.conf), "PATH": slurm_cluster.PATH, **more.pop("env", {})}
    found = settings(more.pop("alias", host.alias), env=env, poll_interval_s=1, remote_dir=f"~/{REMOTE_DIR}", **more)
    return {**found, "type": "slurm"}


@contextlib.contextmanager
def login_node(patch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A login node. This process, and those that it starts, find the way to it, and the fake trainers."""
    with sshd.client() as client, sshd.host(client, alias="login") as host:
        patch.setenv("PATH", client.path)
        use_fakes(patch)
        yield host


@contextlib.contextmanager
def behind(host: Host) -> Iterator[Cluster]:
    """The cluster behind a login node."""
    folder = host.there.folder / "cluster"
    folder.mkdir()
    with slurm_cluster.running(folder, host.there) as cluster:
        yield cluster


class SlurmHouse:
    """A served lab for many runs, one after another. Files in `hold` (of the server), and in `there` (of the login
    node's account, whose programs know it as `~/hold`), make a stage of a run wait."""

    def __init__(self, folder: Path, host: Host, cluster: Cluster) -> None:
        self.host = host
        self.cluster = cluster
        self.hold = folder / "hold"
        self.hold.mkdir()
        self.there = host.home / "hold"
        self._lay_out()
        bin_folder = f"{host.there.account.home}/bin"
        env = {"PATH": f"{bin_folder}:{slurm_cluster.PATH}", "POTATO_FAKES_WAIT": self.path_there("import")}
        host.also("far", relay.option(rate=RATE))
        backends = {
            CLUSTER: backend(host, cluster, env=env),
            HELD: backend(host, cluster, env=env, sbatch_args=["--hold"]),
            SLOW: backend(host, cluster, env=env, alias="far"),
            BRIEF: backend(host, cluster, env=env, reconnect_s=RECONNECT_S),
        }
        self.lab = ssh_lab(folder / "lab", backends)
        self.server = Served(self.lab, tasks="held_tasks")

    def _lay_out(self) -> None:
        for name in ("hold", "bin"):
            self.host.there.run("mkdir", f"{self.host.there.account.home}/{name}", user=True)
        sbatch = self.host.home / "bin" / "sbatch"
        sbatch.write_text(SBATCH % {"real": shutil.which("sbatch")}, "utf-8")
        sbatch.chmod(0o755)
        self.put("import")

    # Files that hold something, or let it go

    def path_there(self, name: str) -> str:
        """Where the account's programs find one."""
        return f"{self.host.there.account.home}/hold/{name}"

    def put(self, name: str) -> None:
        """Lay one there."""
        self.host.there.run("touch", self.path_there(name), user=True)

    def take(self, name: str) -> None:
        """Remove it, and what tells that somebody came to it."""
        for path in (
            self.there / name,
            self.there / f"{name}.reached",
            self.hold / name,
            self.hold / f"{name}.reached",
        ):
            path.unlink(missing_ok=True)

    # The server

    def kill(self) -> None:
        """SIGKILL."""
        self.server.kill()

    def start(self) -> None:
        """Start it again, where it does not run."""
        if self.server.process.poll() is not None:
            self.server = Served(self.lab, self.server.port, tasks="held_tasks")

    # What there is of a run

    def jobs(self, run_id: str) -> list[tuple[int, str]]:
        """The jobs of a run that SLURM knows of, ended ones too: number and state."""
        return [(number, state) for number, name, state, _ in self.cluster.jobs("all") if run_id in name]

    def events(self, run_id: str) -> bytes:
        """What its worker has said on the shared storage."""
        found = sorted((self.host.home / REMOTE_DIR / "jobs" / run_id).glob("attempt-*/start-*/events.jsonl"))
        return found[-1].read_bytes() if found else b""

    def is_clear(self) -> bool:
        """Whether nothing is left of any run: in the queue, on the login node, on the shared storage."""
        return not self.cluster.jobs() and jobs_there(self.host) == [] and self.host.there.processes() == {}

    def settle(self, run_id: str) -> None:
        """Whatever a test has done: the next one finds everything alive, and nothing that goes on or waits."""
        for name in ("before", "after", "training.build", "training.evaluate"):
            self.take(name)
        self.put("import")
        self.start()
        if self.server.run(run_id)["state"] not in ("success", "error", "cancelled"):
            self.server.http.post(f"{API}/runs/{run_id}/cancel")
            self.server.finished(run_id, LIMIT)
        self.cluster.cancel_all()
        self.take("go")


@contextlib.contextmanager
def house(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[SlurmHouse]:
    """A house until the block ends."""
    patch.setenv("POTATO_HOLD", str(folder / "hold"))
    with login_node(patch) as host, behind(host) as cluster:
        made = SlurmHouse(folder, host, cluster)
        try:
            yield made
        finally:
            made.server.close()


class OtherNode:
    """Another login node of the same cluster: the same account, home and programs, but a machine of its own by name and
    by boot, as far as a program there can tell."""

    def __init__(self, there: Running, name: str) -> None:
        self._there = there
        self._name = name
        self.folder = there.folder / name
        self.folder.mkdir()
        self.has_network = False
        (self.folder / "boot_id").write_text(f"{uuid.uuid4()}\n", "ascii")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._there, name)

    def spawn(self, *command: str, **more: Any) -> subprocess.Popen[bytes]:
        """See `Running.spawn`."""
        become = 'hostname "$1"; mount --bind "$2" /proc/sys/kernel/random/boot_id; shift 2; exec "$@"'
        node = ["unshare", "--uts", "--mount", "sh", "-euc", become, "sh", self._name, str(self.folder / "boot_id")]
        return self._there.spawn(*node, *command, **more)


@contextlib.contextmanager
def another(host: Host, name: str) -> Iterator[Host]:
    """Another login node beside `host`, with an sshd of its own, which the client does not log in to yet."""
    made = Host(cast(Running, OtherNode(host.there, name)), host.client, name, ())
    try:
        yield made
    finally:
        made.close()
