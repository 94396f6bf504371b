"""A large corpus: how long the first start and later ones take, what they hold in memory, and whether pages stay quick.

    python benchmarks/items.py [--items 1000000] [--peer PROGRAM] [--database URL]

A start ends when the server answers and an annotator who signs in has the first item's page. Memory is the highest that
the server process has held; the child process that loads items is measured beside it.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import psutil
from common import ADMIN_KEY, Command, Server, machine, make_project, percentile, potato, print_table, serving
from peer import PeerPages, make_peer_project, peer
from saves import Pages


@dataclass
class Start:
    """What one start took, and what the server held afterwards."""

    seconds: float
    server_mb: float
    children_mb: float
    next_item_ms: float
    admin_ms: float | None


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


async def _next_items(pages: Pages | PeerPages, times: int) -> tuple[list[float], list[float]]:
    """Milliseconds to be given an item and to get its page, and to save an answer to it, after signing in."""
    await pages.sign_in()
    taken, saved = [], []
    for _ in range(times):
        started = time.perf_counter()
        item = await pages.next_item()
        taken.append(1000 * (time.perf_counter() - started))
        assert item is not None
        started = time.perf_counter()
        assert await pages.save(item)
        saved.append(1000 * (time.perf_counter() - started))
    pages.client.close()
    return taken, saved


def start(command: Command, folder: Path, kind: type[Pages | PeerPages]) -> Start:
    """Start a server, look at it, stop it."""
    with ChildPeak() as children, serving(command, folder) as (server, seconds):
        started = time.perf_counter()
        asyncio.run(_next_items(kind(server.port, "ann"), 1))
        seconds += time.perf_counter() - started
        taken, _ = asyncio.run(_next_items(kind(server.port, "bob"), 50))
        admin = _admin_page(server) if kind is Pages else None  # the peer has none that can be compared
        return Start(seconds, server.peak_rss_mb(), children.megabytes, percentile(taken, 0.95), admin)


def _admin_page(server: Server) -> float:
    """Milliseconds for the admin's overview: the slowest of ten."""
    taken = []
    for _ in range(10):
        started = time.perf_counter()
        request = urllib.request.Request(f"{server.url}/admin", headers={"X-API-Key": ADMIN_KEY})
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
        taken.append(1000 * (time.perf_counter() - started))
    return max(taken)


def starts(name: str, command: Command, folder: Path, kind: type[Pages | PeerPages]) -> list[list[str]]:
    """Lines of the table: the first start and two later ones."""
    rows = []
    for which in ("first", "second", "third"):
        one = start(command, folder, kind)
        figures = f"{one.seconds:.1f}", f"{one.server_mb:.0f}", f"{one.children_mb:.0f}", f"{one.next_item_ms:.1f}"
        admin = "-" if one.admin_ms is None else f"{one.admin_ms:.1f}"
        rows.append([f"{name}, {which} start", *figures, admin])
    return rows


def strategies_over(config: Path, folder: Path) -> list[list[str]]:
    """Lines of another table: next item and save under each strategy, with no model, so that `uncertainty` draws."""
    plain, rows = config.read_text(), []
    for strategy in ("ordered", "random", "least-annotated", "uncertainty"):
        config.write_text(f"{plain}assignment_strategy: {strategy}\n")
        with serving(potato(config), folder) as (server, _):
            taken, saved = asyncio.run(_next_items(Pages(server.port, strategy), 200))
        figures = percentile(taken, 0.5), percentile(taken, 0.95), percentile(saved, 0.95)
        rows.append([strategy, *(f"{figure:.1f}" for figure in figures)])
    config.write_text(plain)
    return rows


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--peer", type=Path, default=None, help="the program of an earlier release, to measure beside")
    parser.add_argument("--database", metavar="URL", help="an empty PostgreSQL database, to measure beside SQLite")
    options = parser.parse_args()
    stores = {"Potato": ""}
    if options.database:
        stores["on PostgreSQL"] = f'database_url: "{options.database}"\n'
    rows = []
    for title, more in stores.items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rows += starts(title, potato(make_project(folder, options.items, more)), folder, Pages)
    if options.peer:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rows += starts("peer", peer(options.peer, make_peer_project(folder, options.items)), folder, PeerPages)
    columns = ["", "seconds", "server, MB", "its children, MB", "next item p95, ms", "admin's overview, ms"]
    print_table(f"{options.items:,} items ({machine()})", columns, rows)


if __name__ == "__main__":
    main()
