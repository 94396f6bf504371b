"""Runs on a host by ssh, beside what anybody would do by hand with ssh and scp.

    python benchmarks/ssh_runs.py [--rounds 5] [--megabytes 1000]

The host is a real sshd on loopback with a user of its own, as the tests have it (run as root, on Linux). The first
table: a warm run from POST to its worker's first event here, beside `ssh host python -c pass` plus the same worker
started by hand there. The second: a model of that size copied home, beside `scp` of the same file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from common import Server, api, machine, make_project, potato, print_table, serving

import sshd
from machines import FAKES, PYTHON
from ssh_scene import REMOTE_DIR
from sshd import ALIAS, Client, Host

RUNS = "/admin/training/api/runs"
TRAINING = f"""\
model_training:
  enabled: true
  num_threads: 1
  backends:
    {ALIAS}: {{type: ssh, host: {ALIAS}, python: {PYTHON}, env: {{PYTHONPATH: {FAKES}}}, keep_remote: true}}
"""


def import_labels(config: Path, labelled: int = 400) -> None:
    """Answers to the first items."""
    path = config.parent / "labels.jsonl"
    with path.open("w") as file:
        for number in range(labelled):
            answer = "positive" if number % 3 else "negative"
            line = {"id": f"item-{number}", "annotator": "ann", "annotations": {"sentiment": answer}}
            file.write(json.dumps(line) + "\n")
    command = [sys.executable, "-m", "potato", "import", str(config), str(path)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Bench:
    """A server, and a host for its runs."""

    def __init__(self, server: Server, runs: Path, client: Client, host: Host) -> None:
        self.server = server
        self.runs = runs
        self.client = client
        self.host = host

    def post(self, trainer: str, **params: Any) -> str:
        """Ask for a run; its id."""
        body = {"trainer": trainer, "schemas": ["sentiment"], "backend": ALIAS, "params": params}
        run_id: str = api(self.server, "POST", RUNS, body)["run_id"]
        return run_id

    def finish(self, run_id: str) -> None:
        """Wait for its end."""
        while (run := api(self.server, "GET", f"{RUNS}/{run_id}"))["state"] not in ("success", "error", "cancelled"):
            time.sleep(0.1)
        assert run["state"] == "success", run

    def first_event(self) -> tuple[float, str]:
        """Seconds from POST to the first event here, and the run, once it is finished."""
        started = time.perf_counter()
        run_id = self.post("sklearn-text")
        until(lambda: has_line(self.runs / run_id / "events.jsonl"))
        taken = time.perf_counter() - started
        self.finish(run_id)
        return taken, run_id

    def by_hand(self, run_id: str, number: int) -> float:
        """Seconds for a log-in that starts Python, and for the same worker to its first event."""
        started = time.perf_counter()
        done = self.client.ssh(ALIAS, f"{PYTHON} -c pass")
        assert done.returncode == 0, done.stderr
        spec, work = self._spec(run_id, number)
        (code,) = (self.host.home / REMOTE_DIR / "code").iterdir()
        path = f"PYTHONPATH=/{code.relative_to(self.host.there.root)}:{FAKES}"
        command = self.host.there.command("env", path, PYTHON, "-m", "potato.training.worker", spec, user=True)
        log_in = time.perf_counter() - started
        started = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
            until(lambda: has_line(work / "events.jsonl"))
            return log_in + time.perf_counter() - started

    def _spec(self, run_id: str, number: int) -> tuple[str, Path]:
        """The run's own spec and bundle, in another folder there."""
        work = self.host.home / f"by-hand-{number}"
        work.mkdir()
        (spec,) = (self.host.home / REMOTE_DIR / "jobs" / run_id).glob("attempt-*/spec.json")
        there = f"/{work.relative_to(self.host.there.root)}"
        (work / "spec.json").write_text(json.dumps({**json.loads(spec.read_text()), "work_dir": there}))
        for path in (work, work / "spec.json"):
            os.chown(path, self.host.there.uid, self.host.there.uid)
        return f"{there}/spec.json", work

    def copied(self, megabytes: int) -> tuple[float, Path]:
        """Seconds in which a model's file of that size came home, and that file there."""
        run_id = self.post("fake", weights=1, weights_mb=megabytes)
        folder = self.runs / run_id
        until(lambda: next(folder.glob("artifacts.part/*/weights*"), None), 600)
        started = time.perf_counter()
        until(lambda: next(folder.glob("artifacts/*/weights*"), None), 600)
        taken = time.perf_counter() - started
        self.finish(run_id)
        (there,) = (self.host.home / REMOTE_DIR / "jobs" / run_id).glob("attempt-*/artifacts/*/weights-0.bin")
        return taken, there

    def scp(self, file: Path, target: Path) -> float:
        """Seconds in which scp brings the same file home."""
        path = f"/{file.relative_to(self.host.there.root)}"
        command = ["scp", "-q", "-F", str(self.client.config), f"{ALIAS}:{path}", str(target)]
        started = time.perf_counter()
        subprocess.run(command, check=True)
        with target.open("rb") as made:
            os.fsync(made.fileno())
        return time.perf_counter() - started


def until(condition: Any, limit_s: float = 60) -> None:
    """Return once it holds."""
    deadline = time.perf_counter() + limit_s
    while not condition():
        if time.perf_counter() > deadline:
            raise SystemExit(f"it did not come about within {limit_s:g} seconds")
        time.sleep(0.002)


def has_line(path: Path) -> bool:
    """Whether the file holds a whole line."""
    return path.exists() and b"\n" in path.read_bytes()


def first_events(bench: Bench, rounds: int) -> list[list[str]]:
    """Rows of the first table; the run that copies the code is not counted."""
    bench.first_event()
    pairs = []
    for number in range(rounds):
        before = bench.host.log_ins()
        taken, run_id = bench.first_event()
        log_ins = bench.host.log_ins() - before
        pairs.append((taken, bench.by_hand(run_id, number), log_ins))
    server, hand, log_ins_each = zip(*pairs, strict=True)
    rows = [[f"round {number}", *_seconds(a, b), str(c)] for number, (a, b, c) in enumerate(pairs, 1)]
    return [*rows, ["median", *_seconds(median(server), median(hand)), str(max(log_ins_each))]]


def copies(bench: Bench, megabytes: int, rounds: int, folder: Path) -> list[list[str]]:
    """Rows of the second table."""
    rows = []
    for number in range(1, rounds + 1):
        before = bench.server.peak_rss_mb()
        taken, file = bench.copied(megabytes)
        more = bench.server.peak_rss_mb() - before
        alone = bench.scp(file, folder / "by-scp")
        here, there = megabytes / taken, megabytes / alone
        rows.append([f"round {number}", f"{here:.0f}", f"{there:.0f}", f"{here / there:.2f}", f"{more:.0f}"])
    return rows


def _seconds(taken: float, alone: float) -> list[str]:
    return [f"{taken:.2f}", f"{alone:.2f}", f"{taken - alone:+.2f}", f"{taken / alone:.2f}"]


def main() -> None:
    """Measure and print two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=1000)
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = str(FAKES)
    with (
        tempfile.TemporaryDirectory() as name,
        sshd.client() as client,
        sshd.host(client, sshd=["Subsystem sftp internal-sftp"]) as host,
    ):
        os.environ["PATH"] = client.path
        folder = Path(name)
        config = make_project(folder, 1000, TRAINING)
        import_labels(config)
        with serving(potato(config), folder) as (server, _):
            bench = Bench(server, folder / "output" / "training" / "runs", client, host)
            events = first_events(bench, options.rounds)
            copied = copies(bench, options.megabytes, 2, folder)
    print_table(
        f"to the worker's first event, a warm run ({machine()})",
        ["", "POST, s", "ssh and worker by hand, s", "difference, s", "ratio", "log-ins"],
        events,
    )
    print_table(
        f"{options.megabytes} MB home", ["", "run, MB/s", "scp, MB/s", "ratio", "more memory at most, MB"], copied
    )


if __name__ == "__main__":
    main()
