"""The earlier release of the same name beside this one, in one run, and this one at a million items.

    python benchmarks/beside.py [--sizes 2000 100000] [--items 1000000] [--seconds 4] [--rounds 2]
                                [--peer-folder FOLDER]

`potato-annotation` 2.12.1 is installed by itself into an environment of its own in `--peer-folder`, once. Both servers
of a size are up at the same time and are measured in turns, so that whatever else the machine does meets both.

- ready: from the command until the server answers.
- memory: PSS, summed over the server and its child processes, the most of three looks.
- registration: the first annotator signs in and has a page.
- save: until the server acknowledges the answer; here it is on disk by then.
- next item: until the browser has the next item's HTML; there by a request of its own, here with the acknowledgement,
  so that both times are one. Each is driven with the requests that its own page makes. Images, scripts and styles,
  which browsers keep, are not counted.
- answers a second: save and next item, over and over, by annotators that never pause. Paced annotators look at each
  item for a second before they answer, and for a second before they go on.
- CPU: what the server and its child processes used for an answer, whatever else the machine did meanwhile.

The annotators are in this process, beside the servers, on connections that are kept open where the server keeps them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from common import Command, Server, machine, make_project, percentile, potato, print_table, serving
from peer import PeerPages, make_peer_project, peer
from saves import Options, Pages, Timings, measure

from items import starts, strategies_over

RELEASE = "potato-annotation==2.12.1"
CROWDS = ((1, 0.0), (8, 0.0), (50, 0.0), (50, 1.0))
"""How many annotators at once, and how many seconds they pause."""
OVERLAP = 1000
"""Annotators for each item: so many that nobody runs out of items while a round lasts."""

Kind = Callable[[int, str], "Pages | PeerPages"]


@dataclass
class Measured:
    """What one product showed at one size."""

    kind: Kind
    server: Server
    ready: float
    memory: float = 0.0
    registration: float | None = None
    crowds: dict[tuple[int, float], list[Timings]] = field(default_factory=dict)
    cpu: dict[tuple[int, float], float] = field(default_factory=dict)

    def look(self) -> None:
        """Note what the server and its children hold in memory now."""
        self.memory = max(self.memory, _held_mb(self.server.process.pid))

    def register(self, limit_s: float) -> None:
        """Sign the first annotator in, or give it up."""
        started = time.perf_counter()
        with contextlib.suppress(asyncio.TimeoutError):
            asyncio.run(asyncio.wait_for(self.kind(self.server.port, "first").sign_in(), limit_s))
            self.registration = time.perf_counter() - started

    def round(self, crowd: tuple[int, float], number: int, seconds: float) -> None:
        """Let a crowd work for a while, under names of its own."""
        people, pause = crowd
        mark = f"r{number}p{people}s{pause:.0f}"
        options = Options(people, seconds, pause, 0, None)
        named: Kind = lambda port, name: self.kind(port, mark + name)  # noqa: E731 - it is an argument
        before = _cpu_s(self.server.process.pid)
        self.crowds.setdefault(crowd, []).append(asyncio.run(measure(named, self.server, options)))
        self.cpu[crowd] = self.cpu.get(crowd, 0.0) + _cpu_s(self.server.process.pid) - before


def _cpu_s(pid: int) -> float:
    used = 0.0
    server = psutil.Process(pid)
    for process in [server, *server.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            used += times.user + times.system
    return used


def _held_mb(pid: int) -> float:
    held = 0
    server = psutil.Process(pid)
    for process in [server, *server.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            held += process.memory_full_info().pss
    return held / 2**20


def peer_program(folder: Path) -> Path:
    """The earlier release's program, installed into `folder` where it is not there yet."""
    program = folder / "bin" / "potato"
    if not program.exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", RELEASE], check=True)
    return program


@contextlib.contextmanager
def _served(make: Callable[[Path], Command], kind: Kind, ready: str = "/") -> Iterator[Measured]:
    with tempfile.TemporaryDirectory() as name:
        command = make(Path(name))
        with serving(command, Path(name), ready=ready) as (server, seconds):
            yield Measured(kind, server, seconds)


def beside(program: Path, items: int, options: argparse.Namespace) -> list[list[str]]:
    """The lines of the table for one size."""

    def earlier(folder: Path) -> Command:
        return peer(program, make_peer_project(folder, items, OVERLAP))

    def ours(folder: Path) -> Command:
        return potato(make_project(folder, items, f"annotations_per_item: {OVERLAP}\n"))

    with _served(earlier, PeerPages) as before, _served(ours, Pages) as now:
        both = (before, now)
        for one in both:
            one.look()
            one.register(options.give_up)
            one.look()
        for number in range(options.rounds):
            for crowd in CROWDS:
                for one in both:
                    if one.registration is not None:  # whoever gave up has a server that is still at it
                        one.round(crowd, number, options.seconds)
        for one in both:
            one.look()
    return _lines(f"{items:,} items", before, now, options)


def _lines(size: str, before: Measured, now: Measured, options: argparse.Namespace) -> list[list[str]]:
    rows = [
        _line(f"{size}: ready, s", before.ready, now.ready),
        _line(f"{size}: memory, MB", before.memory, now.memory),
        _line(f"{size}: registration, s", before.registration, now.registration, at_least=options.give_up),
    ]
    for crowd in CROWDS:
        who = f"{size}, {crowd[0]} at once" + (", paced" if crowd[1] else "")
        pair = [one.crowds.get(crowd, []) for one in (before, now)]
        for name, part in (("next item", "next_item"), ("save", "save")):
            for share in (0.5, 0.95):
                times = [_percentile(timings, part, share) for timings in pair]
                rows.append(_line(f"{who}: {name} p{100 * share:.0f}, ms", *times))
        if not crowd[1]:
            rows.append(_line(f"{who}: answers a second", *(_rate(timings) for timings in pair), more=True))
            rows.append(_line(f"{who}: CPU an answer, ms", *(_cpu_ms(one, crowd) for one in (before, now))))
        rows.append([f"{who}: failed requests", *(_failed(timings) for timings in pair), ""])
    return rows


def _percentile(rounds: Sequence[Timings], part: str, share: float) -> float | None:
    values = [1000 * value for timings in rounds for value in getattr(timings, part)]
    return percentile(values, share) if values else None


def _rate(rounds: Sequence[Timings]) -> float | None:
    return sum(len(timings.save) for timings in rounds) / sum(timings.seconds for timings in rounds) if rounds else None


def _cpu_ms(one: Measured, crowd: tuple[int, float]) -> float | None:
    answers = sum(len(timings.save) for timings in one.crowds.get(crowd, []))
    return 1000 * one.cpu[crowd] / answers if answers else None


def _failed(rounds: Sequence[Timings]) -> str:
    return str(sum(timings.failed for timings in rounds)) if rounds else "-"


def _line(
    name: str, before: float | None, now: float | None, *, more: bool = False, at_least: float | None = None
) -> list[str]:
    """A line with how many times better this release is; `more`: more is better; `at_least`: what was given up at."""
    figures = [_figure(value, at_least) for value in (before, now)]
    least = before if before is not None else at_least
    if not least or not now:
        return [name, *figures, ""]
    ratio = now / least if more else least / now
    return [name, *figures, ("> " if before is None else "") + f"{ratio:.1f}"]


def _figure(value: float | None, at_least: float | None) -> str:
    if value is None:
        return "-" if at_least is None else f"> {at_least:g}"
    return f"{value:.2f}" if value < 10 else f"{value:.0f}"


def _million(items: int) -> None:
    """This release at a size that the earlier one cannot be asked for."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = make_project(folder, items)
        rows = starts("Potato", potato(config), folder, Pages)
        columns = ["", "seconds", "server, MB", "its children, MB", "next item p95, ms", "admin's overview, ms"]
        print_table(f"{items:,} items", columns, rows)
        rows = strategies_over(config, folder)
        print_table(
            f"{items:,} items, by assignment_strategy", ["", "next item p50, ms", "p95, ms", "save p95, ms"], rows
        )
        with serving(potato(config), folder) as (server, _):
            crowd = asyncio.run(measure(Pages, server, Options(50, 10, 1.0, items, None)))
            held = _held_mb(server.process.pid)
    row = [f"{_percentile([crowd], part, 0.95):.1f}" for part in ("next_item", "save")]
    columns = ["", "next item p95, ms", "save p95, ms", "failed", "memory, MB (PSS, all processes)"]
    print_table(
        f"{items:,} items, 50 annotators at once, paced", columns, [["Potato", *row, str(crowd.failed), f"{held:.0f}"]]
    )


def _options() -> argparse.Namespace:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[2_000, 100_000], help="items, beside the peer")
    parser.add_argument("--items", type=int, default=1_000_000, help="items of this release alone; 0: not measured")
    parser.add_argument("--seconds", type=float, default=4, help="a round of one crowd at one server")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--give-up", type=float, default=120, help="seconds that a registration may take")
    parser.add_argument("--peer-folder", type=Path, default=cache / "potato-benchmarks" / "peer-2.12.1")
    return parser.parse_args()


def main() -> None:
    """Measure and print."""
    options = _options()
    program = peer_program(options.peer_folder)
    for size in options.sizes:
        rows = beside(program, size, options)
        print_table(f"{RELEASE} beside this release", ["", "peer", "Potato", "times better"], rows)
    if options.items:
        _million(options.items)
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
