"""Saves a second, by 20 annotators that never pause: one process on SQLite, one and two on PostgreSQL.

    python benchmarks/servers.py --database postgresql://user:password@host/empty [--seconds 8]

The clients run beside the servers, and the database, on the same cores. The database must be empty.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import tempfile
import time
from pathlib import Path

from common import make_project, percentile, potato, print_table, serving
from saves import Pages, Timings, _work

ANNOTATORS = 20
ITEMS = 50_000


async def measure(ports: list[int], seconds: float, mark: str) -> Timings:
    """What the annotators met; each stays at one of the servers."""
    people = [Pages(ports[number % len(ports)], f"{mark}{number:03}") for number in range(ANNOTATORS)]
    for person in people:
        await person.sign_in()
    timings = Timings()
    until = time.perf_counter() + seconds
    await asyncio.gather(*(_work(person, until, 0.0, timings) for person in people))
    return timings


def row(name: str, more: str, count: int, seconds: float) -> list[str]:
    """A line of the table: `count` processes of a project whose file has `more`."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        command = potato(make_project(Path(folder), ITEMS, more))
        servers = [stack.enter_context(serving(command, Path(folder)))[0] for _ in range(count)]
        timings = asyncio.run(measure([server.port for server in servers], seconds, name.replace(" ", "")))
    waits = [1000 * value for value in timings.save] or [float("nan")]
    figures = [f"{percentile(waits, share):.1f}" for share in (0.5, 0.95)]
    return [name, f"{len(timings.save) / seconds:.0f}", *figures, str(timings.failed)]


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--database", required=True, metavar="URL")
    parser.add_argument("--seconds", type=float, default=8)
    options = parser.parse_args()
    there = f'database_url: "{options.database}"\n'
    rows = [
        row("SQLite 1 process", "", 1, options.seconds),
        row("PostgreSQL 1 process", there, 1, options.seconds),
        row("PostgreSQL 2 processes", there, 2, options.seconds),
    ]
    print_table(
        "Saves by 20 annotators that never pause",
        ["store and servers", "saves a second", "p50 ms", "p95 ms", "failed"],
        rows,
    )


if __name__ == "__main__":
    main()
