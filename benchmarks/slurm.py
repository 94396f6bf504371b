"""From asking for a run to its worker's first event on SLURM, beside `sbatch` of that worker by hand.

    python benchmarks/slurm.py [--rounds 5]

It starts an sshd and a SLURM of its own on loopback, as the tests do: on Linux, as root, with Debian's packages (see
`.ci/services`). Each round posts a run to the API of a server that logs in there, and watches for the worker's first
event in the run's journal; then the very same worker is submitted by hand on the login node. In the end the calls of
`squeue` are counted while a job waits.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from common import Server, api, machine, make_project, potato, print_table, serving
from first_event import RUNS, _labels

import slurm_cluster
import sshd
from machines import PYTHON
from slurm_cluster import Cluster
from ssh_scene import REMOTE_DIR
from sshd import Host

POLL_S = 10.0
GOAL_S = POLL_S + 1.5
STARTING = b'"state":"starting"'
SQUEUE = """\
#!/bin/sh
echo x >>"$HOME/calls"
exec {real} "$@"
"""


def settings(host: Host, cluster: Cluster) -> str:
    """The project's part for the cluster, and for one on which every job waits."""
    env = {"SLURM_CONF": str(cluster.conf), "PATH": f"{host.there.account.home}/bin:{slurm_cluster.PATH}"}
    there: dict[str, Any] = {"type": "slurm", "host": host.alias, "python": PYTHON, "env": env}
    there |= {"remote_dir": f"~/{REMOTE_DIR}", "poll_interval_s": POLL_S}
    backends = {"cluster": there, "held": {**there, "sbatch_args": ["--hold"]}}
    return f"model_training: {json.dumps({'enabled': True, 'backends': backends})}\n"  # JSON is YAML


def count_calls(host: Host) -> Path:
    """Have each call of `squeue` on the login node leave a line in a file."""
    stub = host.home / "bin" / "squeue"
    stub.parent.mkdir()
    stub.write_text(SQUEUE.format(real=shutil.which("squeue")), "utf-8")
    stub.chmod(0o755)
    return host.home / "calls"


def wait_for_start(path: Path, limit_s: float = 120) -> None:
    """Return once a worker's first event stands in the file."""
    deadline = time.perf_counter() + limit_s
    while not (path.exists() and STARTING in path.read_bytes()):
        if time.perf_counter() > deadline:
            raise SystemExit(f"no worker's first event came to {path} within {limit_s:g} seconds")
        time.sleep(0.005)


def by_server(server: Server, runs: Path) -> tuple[float, float, dict[str, Any]]:
    """Seconds from POST to the worker's first event in the journal here, and to the run's end; the run."""
    started = time.perf_counter()
    run = api(server, "POST", RUNS, {"trainer": "sklearn-text", "schemas": ["sentiment"], "backend": "cluster"})
    wait_for_start(runs / run["run_id"] / "events.jsonl")
    first = time.perf_counter() - started
    while run["state"] not in ("success", "error", "cancelled"):
        time.sleep(0.05)
        run = api(server, "GET", f"{RUNS}/{run['run_id']}")
    assert run["state"] == "success", run
    return first, time.perf_counter() - started, run


def by_hand(host: Host, cluster: Cluster, runs: Path, run: dict[str, Any]) -> float:
    """Seconds from `sbatch` of that worker on the login node to its first event on the shared storage."""
    name = f"by-hand-{run['run_id']}"
    here, there = host.home / name, f"{host.there.account.home}/{name}"
    shutil.copytree(runs / run["run_id"] / "bundle", here / "bundle")
    spec = {name: run[name] for name in ("run_id", "trainer", "schemas", "params")}
    (here / "spec.json").write_text(json.dumps({**spec, "bundle": f"{there}/bundle", "work_dir": there}), "utf-8")
    (code,) = (host.home / REMOTE_DIR / "code").iterdir()
    lines = ["#!/bin/sh", f"export PYTHONPATH=$HOME/{REMOTE_DIR}/code/{code.name}"]
    lines += [f"exec {PYTHON} -s -B -u -m potato.training.worker {there}/spec.json"]
    (here / "job.sh").write_text("\n".join(lines) + "\n", "utf-8")
    host.there.run("chown", "-R", str(host.there.uid), there)
    submit = ["sbatch", "--parsable", f"--chdir={there}", f"{there}/job.sh"]
    started = time.perf_counter()
    host.there.run("env", f"SLURM_CONF={cluster.conf}", f"HOME={host.there.account.home}", *submit, user=True)
    wait_for_start(here / "events.jsonl")
    taken = time.perf_counter() - started
    while cluster.jobs():
        time.sleep(0.05)
    return taken


def calls_an_hour(server: Server, calls: Path) -> float:
    """How often `squeue` is called for a job that waits."""
    run = api(server, "POST", RUNS, {"trainer": "sklearn-text", "schemas": ["sentiment"], "backend": "held"})
    url = f"{RUNS}/{run['run_id']}"
    while "PENDING" not in api(server, "GET", url)["step"]:
        time.sleep(0.1)
    before, began = len(calls.read_text("utf-8").splitlines()), time.perf_counter()
    time.sleep(6 * POLL_S)
    hourly = (len(calls.read_text("utf-8").splitlines()) - before) * 3600 / (time.perf_counter() - began)
    api(server, "POST", f"{url}/cancel")
    return hourly


def measure(stack: ExitStack, rounds: int) -> None:
    """Measure, and print one table."""
    client = stack.enter_context(sshd.client())
    os.environ["PATH"] = client.path
    host = stack.enter_context(sshd.host(client, alias="login"))
    (folder := host.there.folder / "cluster").mkdir()
    cluster = stack.enter_context(slurm_cluster.running(folder, host.there))
    calls = count_calls(host)
    home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    config = make_project(home, 1000, settings(host, cluster))
    runs = home / "output" / "training" / "runs"
    server, _ = stack.enter_context(serving(potato(config), home))
    labels = [sys.executable, "-m", "potato", "import", str(config), str(_labels(home))]
    subprocess.run(labels, check=True, stdout=subprocess.DEVNULL)
    by_server(server, runs)  # the code is copied, the bundle's parts are in the page cache
    rows = []
    for _ in range(rounds):
        first, whole, run = by_server(server, runs)
        rows.append((first, by_hand(host, cluster, runs, run), whole))
    hourly = calls_an_hour(server, calls)
    firsts, alones, wholes = (median(column) for column in zip(*rows, strict=True))
    figures = [*((f"round {number}", *row) for number, row in enumerate(rows, 1)), ("median", firsts, alones, wholes)]
    table = [
        [str(name), f"{a:.2f}", f"{b:.2f}", f"{a / b:.2f}", f"{a - b:+.2f}", f"{c:.2f}"] for name, a, b, c in figures
    ]
    columns = ["", "POST, s", "sbatch by hand, s", "ratio", "difference, s", "whole run, s"]
    print_table(f"to the worker's first event on SLURM, warm ({machine()})", columns, table)
    worst = max(a - b for a, b, _ in rows)
    print(f"\ndifference: at most {worst:.2f} s; goal: poll_interval_s ({POLL_S:g} s) plus 1.5 s = {GOAL_S:g} s")
    print(f"squeue is called {hourly:.0f} times an hour while a job waits\n")


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with ExitStack() as stack:
        measure(stack, options.rounds)


if __name__ == "__main__":
    main()
