"""Next item and save, with many annotators at once: how long each waits, and whether any request fails.

    python benchmarks/saves.py [--annotators 50] [--seconds 10] [--pause 1] [--peer PROGRAM]

Each annotator signs in, then answers item after item, with the requests that the page makes: here one an answer, which
brings the next item, so that both times are its. Two lines are measured: annotators that never pause, which is the most
the server can be asked, and annotators that look at each item for `--pause` seconds on average before they answer, and
as long before they go on. The clients run beside the server on the same cores.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import re
import tempfile
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from common import Client, Command, Server, machine, make_project, percentile, potato, print_table, serving
from peer import PeerPages, make_peer_project, peer


@dataclass(frozen=True)
class Options:
    """What is measured."""

    annotators: int
    seconds: float
    pause: float
    items: int
    peer: Path | None


@dataclass
class Timings:
    """Seconds that each request took, how many failed, and how long it was until the last was answered."""

    next_item: list[float] = field(default_factory=list)
    save: list[float] = field(default_factory=list)
    failed: int = 0
    seconds: float = 0.0

    @contextlib.contextmanager
    def noted(self, *parts: str) -> Iterator[None]:
        """Note how long the body takes, as times of `save`, `next_item`, or both."""
        started = time.perf_counter()
        yield
        for part in parts:
            getattr(self, part).append(time.perf_counter() - started)


Pause = Callable[[], Awaitable[None]]
"""What an annotator does before each step, such as to look at the item."""


class Pages:
    """The requests of an annotator: the first item's page, and then one for each answer, which brings the next item."""

    def __init__(self, port: int, name: str) -> None:
        self.client = Client(port)
        self._name = name

    async def sign_in(self) -> None:
        """Sign in."""
        body = f"name={self._name}".encode()
        reply = await self.client.request("POST", "/sign-in", body, "application/x-www-form-urlencoded")
        assert reply.status in (200, 303), reply

    async def next_item(self) -> str | None:
        """The next item's number; its page is fetched too."""
        given = await self.client.request("GET", "/annotate")
        found = re.search(r"(\d+)$", given.headers.get("location", ""))
        if given.status != 303 or not found:
            return None
        page = await self.client.request("GET", f"/annotate/{found[1]}")
        return found[1] if page.status == 200 and b"sentiment" in page.body else None

    async def save(self, item: str) -> bool:
        """Answer it; whether the server says that the answer is safe."""
        return (await self._saved(item, brings_next=False))[0]

    async def answer(self, item: str, timings: Timings, pause: Pause) -> str | None:
        """Answer `item` as the page does; the item after it, which comes with the acknowledgement."""
        await pause()
        with timings.noted("save", "next_item"):
            saved, following = await self._saved(item, brings_next=True)
        timings.failed += not saved
        await pause()
        return following

    async def _saved(self, item: str, *, brings_next: bool) -> tuple[bool, str | None]:
        body = {
            "request_id": uuid.uuid4().hex,
            "annotator": self._name,
            "answers": {"sentiment": random.choice(["positive", "negative"])},
            "next": brings_next,
        }
        reply = await self.client.request(
            "POST", f"/annotate/{item}/answers", json.dumps(body).encode(), "application/json"
        )
        if reply.status != 200 or b"saved_at" not in reply.body:
            return False, None
        following = json.loads(reply.body)["next"]
        return True, str(following["item"]) if following and "sentiment" in following["work"] else None


async def _work(pages: Pages | PeerPages, until: float, pause: float, timings: Timings) -> None:
    """Fetch and answer items until the time is up."""

    async def paused() -> None:
        await asyncio.sleep(random.uniform(0, 2 * pause))

    item = await pages.next_item()
    while time.perf_counter() < until:
        if item is None:
            timings.failed += 1
            item = await pages.next_item()
            continue
        item = await pages.answer(item, timings, paused)
    pages.client.close()


async def measure(kind: Callable[[int, str], Pages | PeerPages], server: Server, options: Options) -> Timings:
    """What so many annotators at once met."""
    people = [kind(server.port, f"ann{number:03}") for number in range(options.annotators)]
    for person in people:
        await person.sign_in()
    timings = Timings()
    started = time.perf_counter()
    until = started + options.seconds
    await asyncio.gather(*(_work(person, until, options.pause, timings) for person in people))
    timings.seconds = time.perf_counter() - started
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


def _rows(
    name: str, kind: Callable[[int, str], Pages | PeerPages], serve: Callable[[Path], Command], options: Options
) -> list[list[str]]:
    """Two lines of the table for each pace: next item, save."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, serving(serve(Path(folder)), Path(folder)) as (server, _):
        for pace in (replace(options, pause=0.0), options):
            timings = asyncio.run(measure(kind, server, pace))
            how = f"pause {pace.pause:g} s" if pace.pause else "no pause"
            rows.append(_row(f"{name}, {how}: next item", timings.next_item, timings.seconds, timings.failed))
            rows.append(_row(f"{name}, {how}: save", timings.save, timings.seconds, timings.failed))
    return rows


def _options() -> Options:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--pause", type=float, default=1.0)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--peer", type=Path, default=None, help="the program of an earlier release, to measure beside")
    return Options(**vars(parser.parse_args()))


def main() -> None:
    """Measure and print one table."""
    options = _options()
    rows = _rows("Potato", Pages, lambda folder: potato(make_project(folder, options.items)), options)
    if program := options.peer:
        rows += _rows(
            "peer", PeerPages, lambda folder: peer(program, make_peer_project(folder, options.items)), options
        )
    title = (
        f"{options.annotators} annotators at once, {options.items:,} items, {options.seconds:g} s each ({machine()})"
    )
    print_table(title, ["", "requests", "a second", "p50 ms", "p95 ms", "p99 ms", "failed"], rows)


if __name__ == "__main__":
    main()
