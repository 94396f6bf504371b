"""A large bundle, a large model and large predictions by way of an agent: how much memory each process ever held.

    python benchmarks/large_files.py [--mb 2000] [--small 20]

The same run twice: with a bundle, a model file and a predictions file of `--small` megabytes, and of `--mb`. What
holds more the second time keeps in memory what it ought to pass on. The texts are random, so that the bundle's archive
is large too. `worker` is for comparison: a trainer may hold what it learns from. It needs about eight times `--mb` of
disk.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
from common import Server, api, machine, make_project, potato, print_table, serving

from potato.project.loading import load_or_raise
from potato.training.agents.tokens import register

RUNS = "/admin/training/api/runs"
BACKEND = "machine"
TRAINER = str(Path(__file__).parent / "trainer")
TEXT_BYTES = 20_000
TRAINING = """\
model_training:
  enabled: true
  max_predictions_mb: 100000
  max_wall_seconds: 86400
  writeback: {{schemas: [sentiment], include_unlabeled: true}}
  backends:
    {backend}: {{type: agent}}
"""
PARTS = {
    "server": "potato start",
    "its child": "potato.tasks",
    "agent": "potato.training.agent --server",
    "keeper": "agent.keeper",
    "worker": "potato.training.worker",
}
"""A process → what its command line holds."""


class Peaks:
    """The most memory, in megabytes, that each kind of process below this one has ever held."""

    def __init__(self) -> None:
        self.held: dict[str, float] = dict.fromkeys(PARTS, 0.0)

    def look(self) -> None:
        """Look at each process that there is; the system knows its highest."""
        for process in psutil.Process().children(recursive=True):
            try:
                line = " ".join(process.cmdline())
                status = Path(f"/proc/{process.pid}/status").read_text()
            except (psutil.Error, OSError):
                continue
            peak = next((int(row.split()[1]) / 1024 for row in status.splitlines() if row.startswith("VmHWM:")), 0.0)
            for name, part in PARTS.items():
                if part in line:
                    self.held[name] = max(self.held[name], peak)


def _project(folder: Path, megabytes: int) -> tuple[Path, int]:
    """A project whose bundle has so many megabytes, and the number of its items; the first two hundred are labelled."""
    config = make_project(folder, 1, TRAINING.format(backend=BACKEND))
    count = max(400, megabytes * 1_000_000 // TEXT_BYTES)
    size = megabytes * 1_000_000 // count
    with (folder / "items.jsonl").open("w") as file:
        for number in range(count):
            text = base64.b64encode(os.urandom(size * 3 // 4)).decode()
            file.write(json.dumps({"id": f"item-{number}", "text": text}) + "\n")
    with (folder / "labels.jsonl").open("w") as file:
        for number in range(200):
            answer = {"sentiment": ("positive", "negative")[number % 2]}
            file.write(json.dumps({"id": f"item-{number}", "annotator": "import", "annotations": answer}) + "\n")
    return config, count


def _run(server: Server, peaks: Peaks, params: dict[str, Any]) -> dict[str, Any]:
    """A run on the agent, once it has ended."""
    body = {"trainer": "benchmark", "schemas": ["sentiment"], "backend": BACKEND, "params": params}
    run: dict[str, Any] = api(server, "POST", RUNS, body)
    while run["state"] not in ("success", "error", "cancelled"):
        peaks.look()
        time.sleep(0.2)
        run = api(server, "GET", f"{RUNS}/{run['run_id']}")
    assert run["state"] == "success", run["error"]
    return run


def measure(megabytes: int, folder: Path) -> tuple[Peaks, dict[str, float]]:
    """The memory of each process, and the megabytes of each file."""
    folder.mkdir()
    config, count = _project(folder, megabytes)
    project, peaks = load_or_raise(config), Peaks()
    token = register(project, BACKEND)
    params = {"artifact_mb": megabytes, "prediction_bytes": megabytes * 1_000_000 // count}
    with serving(potato(config), folder, limit_s=3600) as (server, _):
        command = [sys.executable, "-m", "potato", "import", str(config), str(folder / "labels.jsonl")]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        command = [
            sys.executable,
            "-m",
            "potato.training.agent",
            "--server",
            server.url,
            "--backend",
            BACKEND,
            "--keep",
        ]
        with (folder / "agent.log").open("wb") as log:
            agent = subprocess.Popen(
                [*command, "--workdir", str(folder / "work")],
                env={**os.environ, "POTATO_TRAINING_TOKEN": token},
                stdout=log,
                stderr=log,
            )
        try:
            run = _run(server, peaks, params)
        finally:
            agent.terminate()
            agent.wait(60)
    return peaks, _sizes(project.runs_dir / run["run_id"], folder / "work")


def _sizes(run: Path, work: Path) -> dict[str, float]:
    files = {
        "bundle": list(work.glob("jobs/*/bundle/*")),
        "its archive": [run / "bundle.tar.gz"],
        "model": list(work.glob("jobs/*/attempt-1/artifacts/**/model.bin")),
        "predictions": [run / "predictions.jsonl"],
    }
    return {name: sum(path.stat().st_size for path in paths) / 1e6 for name, paths in files.items()}


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mb", type=int, default=2000)
    parser.add_argument("--small", type=int, default=20)
    options = parser.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([TRAINER, os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    with tempfile.TemporaryDirectory() as name:
        started = time.monotonic()
        small, small_sizes = measure(options.small, Path(name) / "small")
        large, large_sizes = measure(options.mb, Path(name) / "large")
        taken = time.monotonic() - started
    rows = [[f"{part}, MB held", *_figures(small.held[part], large.held[part])] for part in PARTS]
    rows += [[f"{part}, MB long", *_figures(small_sizes[part], large_sizes[part])] for part in small_sizes]
    title = f"a run of {options.small} MB and one of {options.mb} MB on an agent, {taken:.0f} s ({machine()})"
    print_table(title, ["", "small", "large", "difference"], rows)


def _figures(small: float, large: float) -> list[str]:
    return [f"{small:.0f}", f"{large:.0f}", f"{large - small:+.0f}"]


if __name__ == "__main__":
    main()
