"""A real SLURM on this machine for tests: munged, slurmctld and two slurmds as plain processes on ports of loopback.

Its nodes have pretended GPUs, its partitions preempt each other, and a job that is requeued starts again after seconds.
Nothing of the system's own SLURM is used or changed, and all of it is gone when the test's process is.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from conftest import missing
from lab import wait_for
from ports import free_port
from potato.training.worker import processes

NODES = ("n1", "n2")
GPUS = 2
"""Of each node."""
PATH = "/usr/sbin:/sbin:/usr/bin:/bin"

CONFIG = """\
ClusterName=potato
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
DebugFlags=NO_CONF_HASH
FirstJobId={first}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerNode=500
GresTypes=gpu
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0,batch_sched_delay=0
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
ReturnToService=2
MinJobAge=300
KillWait=3
SlurmdTimeout=15
SlurmctldTimeout=10
InactiveLimit=0
MessageTimeout=5
EnforcePartLimits=NO
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 PreemptMode=REQUEUE
PartitionName=cancel Nodes=ALL MaxTime=INFINITE PriorityTier=1 PreemptMode=CANCEL
PartitionName=high Nodes=ALL MaxTime=INFINITE PriorityTier=10 PreemptMode=OFF
"""


class Machine(Protocol):
    """Where the cluster's processes run."""

    def command(self, *command: str) -> list[str]:
        """A command line that runs `command` there, as root."""


class ThisMachine:
    """This very machine."""

    def command(self, *command: str) -> list[str]:
        return list(command)


class Cluster:
    """A cluster in `folder`, which its machine must show at the same path."""

    def __init__(self, folder: Path, machine: Machine | None = None) -> None:
        self.folder = folder
        self.conf = folder / "slurm.conf"
        self._machine = machine or ThisMachine()
        self._services: dict[str, subprocess.Popen[bytes]] = {}
        self._lay_out()

    # Its life

    def start(self) -> None:
        """Start everything, and return when every node is idle."""
        munge = self.folder / "munge"
        self._spawn(
            "munged",
            *("munged", "--foreground", "--force", "--num-threads=4", f"--key-file={munge}/priv/key"),
            *(f"--socket={munge}/socket", f"--pid-file={munge}/priv/pid", f"--seed-file={munge}/priv/seed"),
            f"--log-file={munge}/priv/log",
        )
        wait_for(lambda: (munge / "socket").exists())
        self.start_controller()
        for name in NODES:
            self.start_node(name)
        wait_for(lambda: self.idle() == set(NODES), 60)

    def stop(self) -> None:
        """End every job and every process, and wait until they are gone."""
        for name in ("slurmctld", *NODES):
            self.signal(name, signal.SIGCONT)
        if self.alive("slurmctld"):
            with contextlib.suppress(subprocess.SubprocessError):
                self.cancel_all()
        for name in reversed(list(self._services)):
            self.kill(name)
        deadline = time.monotonic() + 30
        while left := self.processes():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            assert time.monotonic() < deadline, left
            time.sleep(0.02)

    def heal(self) -> None:
        """Have every part run again, and nothing in the queue: ready for another test."""
        for name in ("slurmctld", *NODES):
            self.signal(name, signal.SIGCONT)
        if not self.alive("slurmctld"):
            self.start_controller()
        for name in NODES:
            if not self.alive(name):
                self.start_node(name)
        wait_for(self.answers, 60)
        self.cancel_all()
        if not self._rests(2):  # a node was drained, or given up and comes back by starting anew
            for name in NODES:
                self.run("scontrol", "update", f"nodename={name}", "state=resume", check=False)
        if not self._rests(20):  # a controller that starts hears of its nodes after seconds
            for name in NODES:
                self.kill(name)
                self.start_node(name)
                self.run("scontrol", "update", f"nodename={name}", "state=resume", check=False)
            assert self._rests(90), self.run("sinfo", "-N", "-o", "%N %T %E")

    def remember(self) -> None:
        """Have the controller write down that no job is left. One that is killed goes on from what it wrote last, which
        is seconds old, and would start jobs anew that ended since: in vain, and held or draining their node for it."""
        self.signal("slurmctld", signal.SIGTERM)
        self._services["slurmctld"].wait(60)
        self.start_controller()
        wait_for(self.answers, 60)
        self.heal()

    def _rests(self, limit: float) -> bool:
        """Wait until every node is idle; whether they are."""
        end = time.monotonic() + limit
        while self.idle() != set(NODES):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    # Its parts

    def start_controller(self, *options: str) -> None:
        """Start `slurmctld`; `-c` forgets every job. It never gives a number again: a node would refuse that job."""
        self._first += 1000
        self.conf.write_text(self._config.format(first=self._first), "utf-8")
        self._spawn("slurmctld", "slurmctld", "-D", "-f", str(self.conf), *options)

    def start_node(self, name: str, lacks: Path | None = None) -> None:
        """Start one node's `slurmd`. `lacks` is a folder that is empty for its jobs: storage that it does not share."""
        hide = f'mount -t tmpfs tmpfs "{lacks}"; exec "$@"'
        hidden = ["unshare", "--mount", "sh", "-ec", hide, "sh"] if lacks is not None else []
        self._spawn(name, *hidden, "slurmd", "-D", "-N", name, "-f", str(self.conf))

    def signal(self, name: str, number: signal.Signals) -> None:
        """Signal a part: `munged`, `slurmctld`, `n1`, `n2`."""
        if self.alive(name):
            os.kill(self._services[name].pid, number)

    def kill(self, name: str) -> None:
        """SIGKILL a part, and wait for its end."""
        self.signal(name, signal.SIGKILL)
        self._services[name].wait(30)

    def alive(self, name: str) -> bool:
        """Whether a part runs."""
        return name in self._services and self._services[name].poll() is None

    # Asking it

    @property
    def env(self) -> dict[str, str]:
        """What a program needs to find this cluster."""
        return {"SLURM_CONF": str(self.conf), "PATH": f"{os.environ['PATH']}:{PATH}"}

    def run(self, *command: str, check: bool = True) -> str:
        """Run a command of SLURM's as root; what it prints."""
        done = subprocess.run(
            self._machine.command(*command),
            env={"PATH": PATH, "SLURM_CONF": str(self.conf)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def answers(self) -> bool:
        """Whether the controller answers."""
        return "is UP" in self.run("scontrol", "ping", check=False)

    def idle(self) -> set[str]:
        """The nodes that are idle and nothing else: `sinfo -t idle` would name a drained or silent one too."""
        lines = self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T", check=False).splitlines()
        return {name for name, state in map(str.split, lines) if state == "idle"}

    def jobs(self, states: str = "") -> list[tuple[int, str, str, str]]:
        """The jobs in the queue: id, name, state and reason; those that have ended too where `states` is `all`."""
        only = ["-t", states] if states else []
        lines = self.run("squeue", "-h", *only, "-o", "%A|%j|%T|%r").splitlines()
        found = [line.split("|") for line in lines]
        return [(int(number), name, state, reason) for number, name, state, reason in found]

    def job(self, job_id: int) -> dict[str, str]:
        """What `scontrol` knows of a job."""
        return dict(re.findall(r"(\S+?)=(\S*)", self.run("scontrol", "-o", "show", "job", str(job_id))))

    def submit(self, text: str, *flags: str) -> int:
        """Submit a script by hand; its id."""
        script = self.folder / "by-hand.sh"
        script.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        output = f"--output={self.folder}/by-hand-%j.out"
        return int(self.run("sbatch", "--parsable", output, f"--chdir={self.folder}", *flags, str(script)))

    def cancel_all(self) -> None:
        """Empty the queue."""
        ids = [str(number) for number, *_ in self.jobs()]
        if ids:
            self.run("scancel", *ids, check=False)
        wait_for(lambda: not self.jobs(), 60)

    def processes(self) -> list[int]:
        """What lives of this cluster and its jobs, its services apart."""
        return [one.pid for one in processes.marked(f"SLURM_CONF={self.conf}") if one.pid not in self._own()]

    def _own(self) -> set[int]:
        return {service.pid for service in self._services.values()} | {os.getpid()}

    # Making it

    def _lay_out(self) -> None:
        folder = self.folder
        for name in ("munge", "munge/priv", "state", "dev", "log", *(f"spool.{name}" for name in NODES)):
            (folder / name).mkdir()
        folder.chmod(0o755)
        for name in ("munge/priv", "state"):
            (folder / name).chmod(0o700)
        key = folder / "munge" / "priv" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        ports = [free_port() for _ in range(1 + len(NODES))]
        host = platform.node().partition(".")[0]
        nodes = [
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=4 RealMemory=4000"
            f" Gres=gpu:{GPUS} Feature={name} State=UNKNOWN"
            for name, port in zip(NODES, ports[1:], strict=True)
        ]
        self._first, known = 1, {"host": host, "controller": ports[0], "folder": folder, "nodes": "\n".join(nodes)}
        self._config = CONFIG.format(**known, first="{first}")
        for number in range(GPUS):
            (folder / "dev" / f"gpu{number}").symlink_to("/dev/null")
        (folder / "gres.conf").write_text(f"Name=gpu File={folder}/dev/gpu[0-{GPUS - 1}]\n", "utf-8")
        none = "".join(f"Constrain{what}=no\n" for what in ("Cores", "RAMSpace", "Devices"))
        (folder / "cgroup.conf").write_text(f"CgroupMountpoint=/sys/fs/cgroup\n{none}", "utf-8")

    def _spawn(self, name: str, program: str, *arguments: str) -> None:
        command = ["setpriv", "--pdeathsig=KILL", program, *arguments]
        with (self.folder / "log" / name).open("ab") as output:
            self._services[name] = subprocess.Popen(
                self._machine.command(*command),
                env={"PATH": PATH, "SLURM_CONF": str(self.conf)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )


@contextlib.contextmanager
def running(folder: Path, machine: Machine | None = None) -> Iterator[Cluster]:
    """A cluster that lies in `folder`, until the block ends."""
    if os.geteuid() != 0:
        missing("root, whom slurmd needs")
    for program in ("munged", "slurmctld", "slurmd", "sbatch", "setpriv"):
        if shutil.which(program, path=f"{os.environ['PATH']}:{PATH}") is None:
            missing(program)
    cluster = Cluster(folder, machine)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@contextlib.contextmanager
def shared_folder() -> Iterator[Path]:
    """A folder that nodes and login node share: not under /tmp, as a backend's `remote_dir`."""
    folder = Path(tempfile.mkdtemp(prefix="potato-slurm-", dir=Path.home()))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
