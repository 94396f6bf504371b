"""A run on a host by ssh, beside the same by hand: how soon its worker begins, and how fast its model comes home.

    python benchmarks/ssh.py [--rounds 5] [--mb 1000] [--only starts|copies]

It starts an sshd of its own on loopback, as the tests do: on Linux, as root, with OpenSSH's server. By hand means
`ssh host python -c pass`, plus the same worker with the same bundle started there; and `scp` of the same file, which
has to log in, while a run is logged in already. scp is run as it is, which the goal is about, and once more a round
with the cipher that Potato asks for where nobody has chosen any.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from common import machine, make_project, potato, print_table, serving
from first_event import _labels, by_hand, by_server

import sshd
from machines import PYTHON
from potato.training.ssh.ciphers import FASTEST
from potato.training.ssh.command import Destination
from potato.training.ssh.copying import Copying, listing
from potato.training.ssh.session import Session
from potato.training.ssh.timing import SshTiming
from sshd import Client, Host

TRAINING = f"""\
model_training:
  enabled: true
  backend: gpu
  backends:
    gpu: {{type: ssh, host: {sshd.ALIAS}, python: {PYTHON}}}
"""
RUN = "benchmark"
REMOTE_DIR = ".cache/potato-training"


def log_in(client: Client) -> float:
    """Seconds of `ssh host python -c pass`."""
    started = time.perf_counter()
    done = client.ssh(sshd.ALIAS, f"{PYTHON} -c pass")
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - started


def starts(client: Client, host: Host, folder: Path, rounds: int) -> None:
    """From POST to the worker's first event in the journal here, warm; by hand, the sum of its two parts."""
    config = make_project(folder, 1000, TRAINING)
    runs = folder / "output" / "training" / "runs"
    rows = []
    with serving(potato(config), folder) as (server, _):
        command = [sys.executable, "-m", "potato", "import", str(config), str(_labels(folder))]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        by_server(server, runs)  # the code is copied, the bundle's parts are in the page cache
        before = host.log_ins()
        for number in range(rounds):
            taken, run = by_server(server, runs)
            spec = folder / f"spec-{number}.json"
            spec.write_text(
                json.dumps(
                    {
                        "run_id": run["run_id"],
                        "trainer": run["trainer"],
                        "schemas": run["schemas"],
                        "params": run["params"],
                        "bundle": str(runs / run["run_id"] / "bundle"),
                        "work_dir": "",
                    }
                )
            )
            rows.append((taken, log_in(client), by_hand(spec, folder / f"by-hand-{number}")))
        logged_in = (host.log_ins() - before - rounds) / rounds
    taken, alone, worker = (median(column) for column in zip(*rows, strict=True))
    columns = ["", "POST, s", "ssh, s", "worker, s", "difference, s"]
    figures = [*((f"round {n}", *row) for n, row in enumerate(rows, 1)), ("median", taken, alone, worker)]
    table = [[str(name), f"{a:.2f}", f"{b:.2f}", f"{c:.2f}", f"{a - b - c:+.2f}"] for name, a, b, c in figures]
    print_table(f"to the worker's first event, warm ({machine()})", columns, table)
    print(f"\nlog-ins a run: {logged_in:g}; goals: a difference of at most 1.0 s, one log-in")


def copies(host: Host, client: Client, folder: Path, rounds: int, mb: int) -> None:
    """A model of one large file, home by Potato and by scp in turn."""
    there = host.home / REMOTE_DIR / "jobs" / RUN / "attempt-1" / "artifacts"
    there.mkdir(parents=True)
    with (there / "model.bin").open("wb") as file:
        for _ in range(mb):
            file.write(os.urandom(1_000_000))
    host.there.run("chown", "-R", str(host.there.uid), f"{host.there.account.home}/.cache")
    remote = f"{sshd.ALIAS}:{REMOTE_DIR}/jobs/{RUN}/attempt-1/artifacts/model.bin"
    scp = ["scp", "-q", "-F", str(client.config), remote, str(folder / "by-scp")]
    same_cipher = [*scp[:1], "-c", FASTEST, *scp[1:]]
    ways = {
        "potato": lambda: _by_potato(folder),
        "scp": lambda: _by_scp(scp, folder / "by-scp"),
        "scp, same cipher": lambda: _by_scp(same_cipher, folder / "by-scp"),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    before = _peak_mb()
    for number in range(rounds):
        for name in sorted(ways, reverse=bool(number % 2)):  # neither is always the first
            taken[name].append(ways[name]())
    columns = ["", "Potato, MB/s", "scp, MB/s", "ratio", "scp with the same cipher, MB/s", "ratio"]
    rows = [(mb / a, mb / b, b / a, mb / c, c / a) for a, b, c in zip(*taken.values(), strict=True)]
    named = [
        *((f"round {n}", row) for n, row in enumerate(rows, 1)),
        ("median", tuple(map(median, zip(*rows, strict=True)))),
    ]
    table = [[name, f"{a:.0f}", f"{b:.0f}", f"{c:.2f}", f"{d:.0f}", f"{e:.2f}"] for name, (a, b, c, d, e) in named]
    print_table(f"{mb} MB home from a host ({machine()})", columns, table)
    print(f"\nmemory: {before:.0f} MB before, at most {_peak_mb():.0f} MB; goal: a ratio of at least 0.9, memory flat")


def _by_potato(folder: Path) -> float:
    """As at the end of a run: over the connection that the run has, until the file is checked and on disk."""
    with tempfile.TemporaryDirectory(dir=folder) as home, Session(Destination(sshd.ALIAS), SshTiming()) as session:
        session.open(PYTHON, {})
        session.bring_code(f"~/{REMOTE_DIR}", lambda: None)
        started = time.perf_counter()
        found = listing(session, RUN)
        copying = Copying(RUN, Path(home, "artifacts"), Path(home, "beside"), 60.0, lambda here, total: None)
        copying.run(session, found.attempt, found.files)
        return time.perf_counter() - started


def _by_scp(command: list[str], file: Path) -> float:
    """With its log-in, until the file is on disk as Potato's is."""
    started = time.perf_counter()
    subprocess.run(command, check=True)
    with file.open("rb") as copied:
        os.fsync(copied.fileno())
    taken = time.perf_counter() - started
    file.unlink()
    return taken


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=int, default=1000)
    parser.add_argument("--only", choices=("starts", "copies"))
    options = parser.parse_args()
    with sshd.client() as client, tempfile.TemporaryDirectory() as name:
        os.environ["PATH"] = client.path
        with sshd.host(client, sshd=("Subsystem sftp internal-sftp",)) as host:
            if options.only != "copies":
                starts(client, host, Path(name), options.rounds)
            if options.only != "starts":
                copies(host, client, Path(name), options.rounds, options.mb)


if __name__ == "__main__":
    main()
