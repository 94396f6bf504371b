"""Next item and save, with many annotators at once: how long each waits, and whether any request fails.

    python benchmarks/saves.py [--annotators 50] [--seconds 10] [--pause 1]

Each annotator signs in, then fetches the next item and saves an answer to it, over and over. Two lines are measured:
annotators that never pause, which is the most the server can be asked, and annotators that look at each item for
`--pause` seconds on average. The clients run beside the server on the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from common import Client, Server, machine, make_project, percentile, potato, print_table, serving


@dataclass
class Timings:
    """Seconds that each request took, and how many failed."""

    next_item: list[float] = field(default_factory=list)
    save: list[float] = field(default_factory=list)
    failed: int = 0


class Annotator:
    """One annotator at work."""

    def __init__(self, server: Server, name: str, pause: float) -> None:
        self._client = Client(server.port)
        self._name = name
        self._pause = pause

    async def sign_in(self) -> None:
        """Connect and sign in."""
        await self._client.open()
        body = f"name={self._name}".encode()
        reply = await self._client.request("POST", "/sign-in", body, "application/x-www-form-urlencoded")
        assert reply.status in (200, 303), reply

    async def work(self, until: float, timings: Timings) -> None:
        """Fetch and answer items until the time is up."""
        while time.perf_counter() < until:
            await asyncio.sleep(random.uniform(0, 2 * self._pause))
            started = time.perf_counter()
            item = await self._next_item()
            timings.next_item.append(time.perf_counter() - started)
            if item is None:
                timings.failed += 1
                continue
            await asyncio.sleep(random.uniform(0, 2 * self._pause))
            started = time.perf_counter()
            saved = await self._save(item)
            timings.save.append(time.perf_counter() - started)
            timings.failed += not saved
        self._client.close()

    async def _next_item(self) -> str | None:
        """The next item's number; its page is fetched too."""
        given = await self._client.request("GET", "/annotate")
        found = re.search(r"(\d+)$", given.headers.get("location", ""))
        if given.status not in (302, 303, 307) or not found:
            return None
        page = await self._client.request("GET", f"/annotate/{found[1]}")
        return found[1] if page.status == 200 and b"sentiment" in page.body else None

    async def _save(self, item: str) -> bool:
        body = {
            "request_id": uuid.uuid4().hex,
            "annotator": self._name,
            "answers": {"sentiment": random.choice(["positive", "negative"])},
        }
        reply = await self._client.request(
            "POST", f"/annotate/{item}/answers", json.dumps(body).encode(), "application/json"
        )
        return reply.status == 200 and b"saved_at" in reply.body


async def measure(server: Server, annotators: int, seconds: float, pause: float) -> Timings:
    """What `annotators` at once met within `seconds`."""
    people = [Annotator(server, f"ann{number:03}", pause) for number in range(annotators)]
    for person in people:
        await person.sign_in()
    timings = Timings()
    until = time.perf_counter() + seconds
    await asyncio.gather(*(person.work(until, timings) for person in people))
    return timings


def _row(name: str, values: list[float], seconds: float, failed: int) -> list[str]:
    milliseconds = [1000 * value for value in values] or [float("nan")]
    figures = [percentile(milliseconds, share) for share in (0.5, 0.95, 0.99)]
    return [
        name,
        str(len(values)),
        f"{len(values) / seconds:.0f}",
        *(f"{figure:.1f}" for figure in figures),
        str(failed),
    ]


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--pause", type=float, default=1.0)
    parser.add_argument("--items", type=int, default=100_000)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        config = make_project(Path(folder), options.items)
        with serving(potato(config), Path(folder)) as (server, _):
            for name, pause in (("without a pause", 0.0), (f"a pause of {options.pause:g} s", options.pause)):
                timings = asyncio.run(measure(server, options.annotators, options.seconds, pause))
                rows.append(_row(f"next item, {name}", timings.next_item, options.seconds, timings.failed))
                rows.append(_row(f"save, {name}", timings.save, options.seconds, timings.failed))
    title = (
        f"{options.annotators} annotators at once, {options.items:,} items, {options.seconds:g} s each ({machine()})"
    )
    print_table(title, ["", "requests", "a second", "p50 ms", "p95 ms", "p99 ms", "failed"], rows)


if __name__ == "__main__":
    main()
