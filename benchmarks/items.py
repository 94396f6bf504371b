"""A large corpus: how long the first start and later ones take, what they hold in memory, and whether pages stay quick.

    python benchmarks/items.py [--items 1000000]

A start ends when the server answers and an annotator who signs in has the first item's page. Memory is the highest that
the server process has held; the child process that loads items is measured beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from common import Client, Server, machine, make_project, percentile, potato, print_table, serving


@dataclass
class Start:
    """What one start took, and what the server held afterwards."""

    seconds: float
    server_mb: float
    children_mb: float
    next_item_ms: float


class ChildPeak:
    """The highest memory of this process's descendants that are not the server itself, looked at ten times a second."""

    def __init__(self) -> None:
        self.megabytes = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ChildPeak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._done.wait(0.1):
            held = 0
            for server in me.children():
                try:
                    held += sum(child.memory_info().rss for child in server.children(recursive=True))
                except psutil.NoSuchProcess:
                    continue  # ended between the two looks
            self.megabytes = max(self.megabytes, held / 2**20)


async def _next_items(server: Server, times: int) -> list[float]:
    """Milliseconds to be given an item and to get its page, after signing in."""
    client = Client(server.port)
    await client.request("POST", "/sign-in", b"name=ann", "application/x-www-form-urlencoded")
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        given = await client.request("GET", "/annotate")
        page = await client.request("GET", "/annotate/" + given.headers["location"].rsplit("/", 1)[1])
        assert page.status == 200, page
        taken.append(1000 * (time.perf_counter() - started))
    client.close()
    return taken


def start(config: Path) -> Start:
    """Start the server of a project, look at it, stop it."""
    with ChildPeak() as children, serving(potato(config), config.parent) as (server, seconds):
        started = time.perf_counter()
        asyncio.run(_next_items(server, 1))
        seconds += time.perf_counter() - started
        taken = asyncio.run(_next_items(server, 50))
        return Start(seconds, server.peak_rss_mb()[0], children.megabytes, percentile(taken, 0.95))


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config = make_project(Path(folder), options.items)
        starts = {"first start": start(config), "second start": start(config), "third start": start(config)}
    rows = [
        [
            name,
            f"{one.seconds:.1f}",
            f"{one.server_mb:.0f}",
            f"{one.children_mb:.0f}",
            f"{one.next_item_ms:.1f}",
        ]
        for name, one in starts.items()
    ]
    columns = ["", "seconds", "server, MB", "its children, MB", "next item p95, ms"]
    print_table(f"{options.items:,} items ({machine()})", columns, rows)


if __name__ == "__main__":
    main()
