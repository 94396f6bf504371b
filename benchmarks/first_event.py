"""From asking for a run to its worker's first event, beside the same worker started by hand.

    python benchmarks/first_event.py [--rounds 5]

Each round posts a run to the API of a server and watches the run's `events.jsonl`; then it starts the very same worker
with the same spec and bundle from here. What the server adds, checking, building the bundle and starting the worker, is
the difference.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from common import TRAINING, Server, api, machine, make_project, potato, print_table, serving

LABELLED = 400
RUNS = "/admin/training/api/runs"


def _labels(folder: Path) -> Path:
    """Answers of two annotators to the first items."""
    path = folder / "labels.jsonl"
    with path.open("w") as file:
        for number in range(LABELLED):
            for annotator in ("ann", "bob"):
                answer = "positive" if number % 3 else "negative"
                line = {"id": f"item-{number}", "annotator": annotator, "annotations": {"sentiment": answer}}
                file.write(json.dumps(line) + "\n")
    return path


def _first_line(path: Path, limit_s: float = 60) -> None:
    """Return once the file holds a whole line."""
    deadline = time.perf_counter() + limit_s
    while time.perf_counter() < deadline:
        if path.exists() and path.stat().st_size and b"\n" in path.read_bytes():
            return
        time.sleep(0.002)
    raise SystemExit(f"nothing was written to {path} within {limit_s:g} seconds")


def by_server(server: Server, runs: Path) -> tuple[float, dict[str, Any]]:
    """Seconds from POST to the first event in the run's journal, and the run once it is finished."""
    started = time.perf_counter()
    run = api(server, "POST", RUNS, {"trainer": "sklearn-text", "schemas": ["sentiment"]})
    _first_line(runs / run["run_id"] / "events.jsonl")
    taken = time.perf_counter() - started
    while run["state"] not in ("success", "error", "cancelled"):
        time.sleep(0.1)
        run = api(server, "GET", f"{RUNS}/{run['run_id']}")
    assert run["state"] == "success", run
    return taken, run


def by_hand(spec_file: Path, folder: Path) -> float:
    """Seconds from starting the worker with that spec to its first event."""
    folder.mkdir()
    spec = json.loads(spec_file.read_text())
    spec["work_dir"] = str(folder)
    path = folder / "spec.json"
    path.write_text(json.dumps(spec))
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "potato.training.worker", str(path)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _first_line(folder / "events.jsonl")
        return time.perf_counter() - started
    finally:
        process.wait()


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pairs = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = make_project(folder, 1000, TRAINING)
        runs = folder / "output" / "training" / "runs"
        with serving(potato(config), folder) as (server, _):
            command = [sys.executable, "-m", "potato", "import", str(config), str(_labels(folder))]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for number in range(options.rounds):
                taken, run = by_server(server, runs)
                alone = by_hand(runs / run["run_id"] / "spec.json", folder / f"by-hand-{number}")
                pairs.append((taken, alone))
    rows = [[f"round {number}", *_figures(*pair)] for number, pair in enumerate(pairs, 1)]
    server_times, hand_times = zip(*pairs, strict=True)
    rows.append(["median", *_figures(median(server_times), median(hand_times))])
    title = f"to the worker's first event, {LABELLED} labelled items ({machine()})"
    print_table(title, ["", "POST, ms", "by hand, ms", "difference, ms", "ratio"], rows)


def _figures(taken: float, alone: float) -> list[str]:
    return [f"{1000 * taken:.0f}", f"{1000 * alone:.0f}", f"{1000 * (taken - alone):.0f}", f"{taken / alone:.2f}"]


if __name__ == "__main__":
    main()
