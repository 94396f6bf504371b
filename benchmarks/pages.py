"""What the training pages cost: how fast they open on large runs, and what viewers of a run take of the server.

    python benchmarks/pages.py [--events 100000] [--predictions 50000] [--runs 200] [--viewers 10] [--seconds 20]

Pages are asked for as a browser does: the page, then what its script fetches. `/healthz`, in the same run, is what the
server takes for nothing. The first time is the first after a start, when nothing is remembered; the others are the
median and the slowest of the rounds. Viewers follow the run and the list of runs, two streams each; the figure is the
server process' CPU time a second, without and with them, while the same worker writes so many events a second.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from statistics import median

import psutil
from common import ADMIN_KEY, TRAINING, Server, api, machine, make_project, potato, print_table, serving

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import judged_scenes
import training_scenes
from potato.project.loading import load_or_raise
from potato.store import Database
from potato.store.databases.pieces import in_pieces
from potato.store.training import predictions
from potato.store.training.predictions import Stored
from potato.training.contract.events import EventWriter
from potato.training.runs.folder import RunFolder

RUNS = "/admin/training/api/runs"
TRAINER = str(Path(__file__).parent / "trainer")
HELD_OUT = 7500
LABELLED = 300


def fill(config: Path, options: argparse.Namespace) -> str:
    """Runs as they are after months, the last of them large; its id."""
    project = load_or_raise(config)
    database = Database(project.database_url)
    with database.write() as connection:
        for number in range(1, options.runs):
            training_scenes.add(connection, training_scenes.succeeded(number, held_out=150))
        large = judged_scenes.judged(connection, options.runs, range(1, HELD_OUT + 1))
    said = (
        Stored(seq, "sentiment", "positive", 0.9, {"positive": 0.9, "negative": 0.1}, None)
        for seq in range(1, options.predictions + 1)
    )
    for piece in in_pieces(said):
        with database.write() as connection:
            predictions.add(connection, large.run_id, piece)
    database.close()
    _write_journal(RunFolder.of(project, large.run_id), options.events)
    return large.run_id


def _write_journal(folder: RunFolder, events: int) -> None:
    """Half of the events are metrics, the others progress and lines of the log."""
    folder.artifacts.mkdir(parents=True)
    writer = EventWriter(str(folder.events))
    chance = random.Random(0)
    with folder.log.open("w") as log:
        for step in range(events // 4):
            writer.metric("train", "loss", 1 / (step + 1) + chance.random() / 10, step, scheme="sentiment")
            writer.metric("train", "accuracy", 1 - 1 / (step + 2), step, scheme="sentiment")
            writer.log("info", f"step {step} of {events // 4}")
            writer.log("info", f"learning rate {chance.random():.6f}")
            log.write(f"2026-11-29 14:15:00  step {step} of {events // 4}\n")
    writer.close()


class Clock:
    """Times requests of a served project, each by a name."""

    def __init__(self, server: Server, rounds: int) -> None:
        self._server = server
        self._rounds = rounds
        self.rows: list[list[str]] = []

    def time(self, name: str, *paths: str) -> None:
        """Ask for these paths, one after another, so many rounds."""
        taken = [self._once(paths) for _ in range(self._rounds)]
        first, rest = taken[0], taken[1:]
        self.rows.append([name, f"{1000 * first:.0f}", f"{1000 * median(rest):.1f}", f"{1000 * max(rest):.0f}"])

    def _once(self, paths: tuple[str, ...]) -> float:
        begun = time.perf_counter()
        for path in paths:
            get(self._server, path)
        return time.perf_counter() - begun


def get(server: Server, path: str) -> bytes:
    """The body of an answer that is well."""
    headers = {"X-API-Key": ADMIN_KEY, "Accept": "text/html, application/json"}
    with urllib.request.urlopen(urllib.request.Request(server.url + path, headers=headers), timeout=120) as answer:
        body: bytes = answer.read()
        return body


def pages(server: Server, large: str, rounds: int) -> list[list[str]]:
    """A line for each page."""
    clock = Clock(server, rounds)
    run = f"{RUNS}/{large}"
    clock.time("/healthz (baseline)", "/healthz")
    clock.time("training page", "/admin/training")
    clock.time("run page alone", f"/admin/training/runs/{large}")
    clock.time(
        "run page with its curves and log",
        f"/admin/training/runs/{large}",
        run,
        f"{run}/curves",
        f"{run}/log?tail=32768",
    )
    clock.time("its wrong items", f"/admin/training/runs/{large}/items?scheme=sentiment&wrong=true")
    clock.time("an item", "/admin/items/5")
    return clock.rows


async def _follow(server: Server, path: str, until: float) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {ADMIN_KEY}\r\n\r\n".encode())
    while (left := until - time.monotonic()) > 0:
        try:
            if not await asyncio.wait_for(reader.read(65536), left):
                raise SystemExit("a stream ended early")
        except asyncio.TimeoutError:
            break
    writer.close()


def cpu_share(server: Server, seconds: float, beside: Callable[[float], None]) -> float:
    """The server process' CPU time a second, in percent of a core, while `beside(until)` goes on."""
    process = psutil.Process(server.process.pid)

    def used() -> float:
        times = process.cpu_times()
        return float(times.user + times.system)

    before, begun = used(), time.monotonic()
    beside(begun + seconds)
    return 100 * (used() - before) / (time.monotonic() - begun)


def viewers(server: Server, options: argparse.Namespace) -> list[list[str]]:
    """A line for each rate of events."""
    rows = []
    for rate in options.rates:
        params = {"events": rate, "seconds": 10 * options.seconds + 60}
        run = api(server, "POST", RUNS, {"trainer": "benchmark", "schemas": ["sentiment"], "params": params})["run_id"]
        while api(server, "GET", f"{RUNS}/{run}")["state"] != "running":
            time.sleep(0.1)
        time.sleep(3)

        async def watch(until: float, run: str = run) -> None:
            paths = [f"{RUNS}/{run}/stream?log_after=0", "/admin/training/api/stream"] * options.viewers
            await asyncio.gather(*(_follow(server, path, until) for path in paths))

        shares = []
        for _ in range(options.turns):
            alone = cpu_share(server, options.seconds, lambda until: time.sleep(max(0.0, until - time.monotonic())))
            watched = cpu_share(server, options.seconds, lambda until: asyncio.run(watch(until)))
            shares.append((alone, watched))
        alone, watched = (median(pair[side] for pair in shares) for side in (0, 1))
        rows.append([f"{rate} events a second", f"{alone:.2f}", f"{watched:.2f}", f"{watched - alone:.2f}"])
        api(server, "POST", f"{RUNS}/{run}/cancel")
        while api(server, "GET", f"{RUNS}/{run}")["state"] != "cancelled":
            time.sleep(0.1)
    return rows


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--predictions", type=int, default=50_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--viewers", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rates", type=int, nargs="+", default=[1, 10])
    return parser.parse_args()


def _labels(folder: Path) -> Path:
    path = folder / "labels.jsonl"
    with path.open("w") as file:
        for number in range(LABELLED):
            answer = {"sentiment": ("positive", "negative")[number % 2]}
            file.write(json.dumps({"id": f"item-{number}", "annotator": "import", "annotations": answer}) + "\n")
    return path


def _until_tidy(folder: Path, run_id: str) -> None:
    """A start writes the curves of ended runs down, once."""
    while not (folder / "output" / "training" / "runs" / run_id / "curves.json").exists():
        time.sleep(0.1)


def main() -> None:
    """Measure and print two tables."""
    options = _options()
    os.environ["PYTHONPATH"] = os.pathsep.join([TRAINER, os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = make_project(folder, max(options.predictions, HELD_OUT), TRAINING)
        with serving(potato(config), folder):
            pass  # the first start reads the items
        large = fill(config, options)
        subprocess.run(
            [sys.executable, "-m", "potato", "import", str(config), str(_labels(folder))],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        with serving(potato(config), folder) as (server, _):
            _until_tidy(folder, large)
            opened = pages(server, large, options.rounds)
            watched = viewers(server, options)
    title = (
        f"{options.runs} runs; one of {options.events:,} events and {options.predictions:,} predictions ({machine()})"
    )
    print_table(title, ["", "first, ms", "median, ms", "slowest, ms"], opened)
    print_table(f"{options.viewers} viewers", ["", "without, % of a core", "with, %", "for them, %"], watched)


if __name__ == "__main__":
    main()
