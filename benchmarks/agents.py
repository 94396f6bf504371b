"""What agents cost annotators: how long a save takes while ten of them wait, and while a run floods the server.

    python benchmarks/agents.py [--agents 10] [--events 10000] [--rounds 3] [--seconds 10]

The same annotators work beside, in turn: nothing; agents that wait for work on backends of their own; these, and one
more whose worker writes so many events a second; these, and the same worker, whose events nobody collects. Agents and
worker run on the same cores as server and annotators, so the last line is what a flood is to be compared with. Lines
are the medians of the rounds; ratios are to the line without agents, in the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from common import TRAINING, Server, api, machine, make_project, percentile, potato, print_table, serving
from saves import Options as Annotators
from saves import Pages, measure

from potato.project.loading import load_or_raise
from potato.training.agents.tokens import register

RUNS = "/admin/training/api/runs"
BUSY = "busy"
TRAINER = str(Path(__file__).parent / "trainer")


@dataclass(frozen=True)
class Options:
    """What is measured."""

    agents: int
    events: int
    rounds: int
    seconds: float
    annotators: int


@dataclass(frozen=True)
class Scene:
    """A served project with agent backends."""

    server: Server
    folder: Path
    runs: Path
    tokens: dict[str, str]
    options: Options


@dataclass(frozen=True)
class Line:
    """What annotators met in one round: seconds of each save, failed requests, events a second."""

    saves: list[float]
    failed: int
    events: float = 0.0

    def ms(self, share: float) -> float:
        """The time that `share` of the saves did not exceed."""
        return 1000 * percentile(self.saves, share)


def _project(folder: Path, options: Options) -> Path:
    names = [BUSY, *(f"waiting-{number}" for number in range(options.agents))]
    backends = "".join(f"    {name}: {{type: agent}}\n" for name in names)
    config = make_project(folder, 20_000, f"{TRAINING}  backends:\n{backends}")
    with (folder / "labels.jsonl").open("w") as file:
        for number in range(200):
            answer = {"sentiment": ("positive", "negative")[number % 2]}
            file.write(json.dumps({"id": f"item-{number}", "annotator": "import", "annotations": answer}) + "\n")
    return config


@contextlib.contextmanager
def _agent(scene: Scene, backend: str) -> Iterator[None]:
    """An agent, as little in the way of the others as the system allows."""
    workdir = scene.folder / f"work-{backend}"
    command = [sys.executable, "-m", "potato.training.agent", "--server", scene.server.url, "--backend", backend]
    with (scene.folder / f"{backend}.log").open("ab") as log:
        process = subprocess.Popen(
            [*command, "--workdir", str(workdir)],
            env={**os.environ, "POTATO_TRAINING_TOKEN": scene.tokens[backend]},
            stdout=log,
            stderr=log,
            preexec_fn=lambda: os.nice(15),
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def _waiting(scene: Scene) -> Iterator[None]:
    """Every agent but the busy one waits for work."""
    with contextlib.ExitStack() as stack:
        for backend in scene.tokens:
            if backend != BUSY:
                stack.enter_context(_agent(scene, backend))
        _wait(
            "every agent waited",
            lambda: all("last seen" in entry["label"] for entry in _menu(scene) if entry["name"] != BUSY),
        )
        yield


def _menu(scene: Scene) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = api(scene.server, "GET", "/admin/training/api/backends")["backends"]
    return [entry for entry in entries if entry["name"] in scene.tokens]


def _wait(what: str, condition: Callable[[], Any], limit_s: float = 180) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"it took more than {limit_s:g} seconds until {what}")
        time.sleep(0.05)


def _annotate(scene: Scene) -> tuple[list[float], int]:
    wanted = Annotators(scene.options.annotators, scene.options.seconds, 1.0, 0, None)
    timings = asyncio.run(measure(Pages, scene.server, wanted))
    return timings.save, timings.failed


def alone(scene: Scene) -> Line:
    """Nothing but annotators."""
    return Line(*_annotate(scene))


def waiting(scene: Scene) -> Line:
    """Agents that wait."""
    with _waiting(scene):
        return alone(scene)


def flooded(scene: Scene) -> Line:
    """Agents that wait, and a run whose worker writes without end."""
    params = {"events": scene.options.events, "seconds": 3600}
    body = {"trainer": "benchmark", "schemas": ["sentiment"], "backend": BUSY, "params": params}
    with _waiting(scene), _agent(scene, BUSY):
        run_id = api(scene.server, "POST", RUNS, body)["run_id"]
        _wait("events came", lambda: _applied(scene, run_id) > scene.options.events)  # they come, and they are taken in
        before, started = _applied(scene, run_id), time.perf_counter()
        saves, failed = _annotate(scene)
        rate = (_applied(scene, run_id) - before) / (time.perf_counter() - started)
        api(scene.server, "POST", f"{RUNS}/{run_id}/cancel")
        _wait("the run was cancelled", lambda: api(scene.server, "GET", f"{RUNS}/{run_id}")["state"] == "cancelled")
    return Line(saves, failed, rate)


def _applied(scene: Scene, run_id: str) -> int:
    """How many events of the run have come."""
    path = scene.runs / run_id / "events.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def beside(scene: Scene) -> Line:
    """Agents that wait, and the same worker, whose events stay where it writes them."""
    newest = max(scene.folder.glob("work-busy/jobs/*/attempt-1"), key=lambda path: path.stat().st_mtime)
    work = scene.folder / "by-hand"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    spec = json.loads((newest / "spec.json").read_text())
    changed = {"bundle": str(scene.runs / spec["run_id"] / "bundle"), "work_dir": str(work), "lease": None}
    (work / "spec.json").write_text(json.dumps({**spec, **changed}))
    with _waiting(scene):
        command = [sys.executable, "-m", "potato.training.worker", str(work / "spec.json")]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=work)
        os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        try:
            events = work / "events.jsonl"
            _wait(
                "the worker wrote events",
                lambda: events.exists() and events.stat().st_size > 100 * scene.options.events,
            )
            return alone(scene)
        finally:
            process.kill()
            process.wait()


WAYS = {
    "no agent": alone,
    "agents that wait": waiting,
    "and a flood of events": flooded,
    "and the flood uncollected": beside,
}


def _rows(lines: dict[str, list[Line]]) -> list[list[str]]:
    rows = []
    for name, of_way in lines.items():
        first = next(iter(lines.values()))
        ratios = [
            median(one.ms(share) / base.ms(share) for one, base in zip(of_way, first, strict=True))
            for share in (0.5, 0.95)
        ]
        rate = median(line.events for line in of_way)
        rows.append(
            [
                name,
                str(sum(len(line.saves) for line in of_way)),
                *(f"{median(line.ms(share) for line in of_way):.1f}" for share in (0.5, 0.95)),
                *(f"{ratio:.2f}" for ratio in ratios),
                f"{rate:,.0f}" if rate else "",
                str(sum(line.failed for line in of_way)),
            ]
        )
    return rows


def _options() -> Options:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--annotators", type=int, default=30)
    return Options(**vars(parser.parse_args()))


def main() -> None:
    """Measure and print one table."""
    options = _options()
    os.environ["PYTHONPATH"] = os.pathsep.join([TRAINER, os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    lines: dict[str, list[Line]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = _project(folder, options)
        project = load_or_raise(config)
        tokens = {backend: register(project, backend) for backend in project.config.model_training.backends}
        with serving(potato(config), folder) as (server, _):
            command = [sys.executable, "-m", "potato", "import", str(config), str(folder / "labels.jsonl")]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            scene = Scene(server, folder, project.runs_dir, tokens, options)
            for _ in range(options.rounds):
                for way, look in WAYS.items():
                    lines[way].append(look(scene))
    title = f"saves of {options.annotators} annotators beside {options.agents} agents ({machine()})"
    columns = ["", "saves", "p50 ms", "p95 ms", "p50 ratio", "p95 ratio", "events a second", "failed"]
    print_table(title, columns, _rows(lines))


if __name__ == "__main__":
    main()
