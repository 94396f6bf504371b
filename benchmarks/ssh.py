"""A run on a host by ssh, beside the same by hand: how soon its worker begins, and how fast its model comes home.

    python benchmarks/ssh.py [--rounds 5] [--mb 1000]

It starts an sshd of its own on loopback, as the tests do: on Linux, as root, with OpenSSH's server. By hand means
`ssh host python -c pass`, plus the same worker with the same bundle started there; and `scp` of the same file.
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
    rows, before = [], _peak_mb()
    for number in range(rounds):
        started = time.perf_counter()
        _copy(folder / f"home-{number}")
        taken = time.perf_counter() - started
        (folder / f"home-{number}" / "artifacts" / "model.bin").unlink()
        started = time.perf_counter()
        subprocess.run(scp, check=True)
        os.sync()  # Potato's copy is on disk when it says so
        rows.append((taken, time.perf_counter() - started))
    columns = ["", "Potato, MB/s", "scp, MB/s", "ratio"]
    ours, theirs = (median(column) for column in zip(*rows, strict=True))
    figures = [*((f"round {n}", *row) for n, row in enumerate(rows, 1)), ("median", ours, theirs)]
    table = [[str(name), f"{mb / a:.0f}", f"{mb / b:.0f}", f"{b / a:.2f}"] for name, a, b in figures]
    print_table(f"{mb} MB home from a host ({machine()})", columns, table)
    print(f"\nmemory: {before:.0f} MB before, at most {_peak_mb():.0f} MB; goal: a ratio of at least 0.9, memory flat")


def _copy(folder: Path) -> None:
    folder.mkdir()
    with Session(Destination(sshd.ALIAS), SshTiming()) as session:
        session.open(PYTHON, {})
        session.bring_code(f"~/{REMOTE_DIR}", lambda: None)
        found = listing(session, RUN)
        copying = Copying(RUN, folder / "artifacts", folder / "beside", 60.0, lambda here, total: None)
        copying.run(session, found.attempt, found.files)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=int, default=1000)
    options = parser.parse_args()
    with sshd.client() as client, tempfile.TemporaryDirectory() as name:
        os.environ["PATH"] = client.path
        with sshd.host(client, sshd=("Subsystem sftp internal-sftp",)) as host:
            starts(client, host, Path(name), options.rounds)
            copies(host, client, Path(name), options.rounds, options.mb)


if __name__ == "__main__":
    main()
