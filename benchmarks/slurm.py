"""From a run's offer to an agent to its worker's first event on SLURM, beside `sbatch` of that worker by hand.

A real SLURM is started on this machine for it, which needs root and Debian's packages (see `.ci/services`). The agent
runs on the login node, with a stand-in for the server; the calls of `squeue` are counted while a job waits.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from common import machine, print_table

import slurm_cluster
from lab import wait_for
from potato.training.agent.slurm.settings import SlurmTiming
from slurm_cluster import PATH, Cluster
from slurm_scene import Login, Submitted

POLL_S = 10.0


def by_potato(login: Login) -> tuple[float, float, Submitted]:
    """Seconds from the run's being offered to its first event at the server, and to its end."""
    started = time.perf_counter()
    one = login.submit({"poll_interval_s": POLL_S}, SlurmTiming())
    one.says("starting the worker")
    first = time.perf_counter() - started
    one.ended()
    return first, time.perf_counter() - started, one


def by_hand(cluster: Cluster, one: Submitted, folder: Path) -> float:
    """Seconds from `sbatch` of that worker to its first event."""
    folder.mkdir()
    root = Path(__file__).parents[1] / "src"
    worker = f"exec {sys.executable} -s -B -u -m potato.training.worker {one.folder}/spec.json --folder {folder}"
    started = time.perf_counter()
    cluster.submit(f"export PYTHONPATH={root}:$PYTHONPATH\n{worker}", "--export=ALL")
    wait_for(lambda: (folder / "events.jsonl").exists() and (folder / "events.jsonl").stat().st_size)
    taken = time.perf_counter() - started
    wait_for(lambda: not cluster.jobs())
    return taken


def count_calls(folder: Path) -> Path:
    """Have each call of `squeue` by this process's children leave a line."""
    stub = folder / "bin" / "squeue"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\necho x >>{folder}/calls\nPATH={PATH} exec squeue "$@"\n')
    stub.chmod(0o755)
    os.environ["PATH"] = f"{stub.parent}:{os.environ['PATH']}"
    return folder / "calls"


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows, pairs = [], []
    with ExitStack() as stack:
        shared = stack.enter_context(slurm_cluster.shared_folder())
        cluster = stack.enter_context(slurm_cluster.running(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        os.environ.update(cluster.env)
        calls = count_calls(shared)
        os.environ["PYTHONPATH"] = str(Path(slurm_cluster.__file__).parent / "training" / "worker" / "strange")
        login = Login(shared, stack)
        began = time.perf_counter()
        for number in range(options.rounds):
            first, whole, one = by_potato(login)
            alone = by_hand(cluster, one, shared / f"by-hand-{number}")
            pairs.append((first, alone))
            rows.append([f"round {number}", f"{first:.2f}", f"{alone:.2f}", f"{first / alone:.2f}", f"{whole:.2f}"])
        waiting = login.submit({"poll_interval_s": POLL_S, "sbatch_args": ["--begin=now+1hour"]}, SlurmTiming())
        waiting.says("PENDING")
        before, began = len(calls.read_text().splitlines()), time.perf_counter()
        time.sleep(3 * POLL_S + 1)
        hourly = (len(calls.read_text().splitlines()) - before) * 3600 / (time.perf_counter() - began)
        waiting.cancel()
        waiting.ended()
        login.close()
    firsts, alones = zip(*pairs, strict=True)
    rows.append(
        ["median", f"{median(firsts):.2f}", f"{median(alones):.2f}", f"{median(firsts) / median(alones):.2f}", ""]
    )
    title = f"to the worker's first event ({machine()})"
    print_table(title, ["", "a run, s", "sbatch by hand, s", "ratio", "whole run, s"], rows)
    print(f"\ngoal: within poll_interval_s ({POLL_S:g} s) plus 1.5 s; squeue is called {hourly:.0f} times an hour\n")


if __name__ == "__main__":
    main()
