"""A million answers out of the store: rows a second, memory, and whether the manifest says what the store does.

    python benchmarks/export.py [--annotations 1000000] [--formats jsonl,csv,parquet]

Each format is written by a process of its own, as `potato export` would, so that its memory is its own. The baseline is
the least that could be done: SQLite's cursor over the answers alone, and `json.dumps` of each row.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from common import machine, make_project, print_table

from potato.items.exporters import EXPORTERS
from potato.items.exporting import export_file
from potato.items.loading import load_items
from potato.project import Project
from potato.project.loading import load_or_raise
from potato.store import Database, users
from potato.store.clock import utc_now
from potato.store.databases.bulk import insert_all
from potato.store.tables import annotations

ANNOTATORS, EACH = 50, 4
COLUMNS = ("item", "user", "scheme", "value", "at", "source", "origin", "suggestion", "elapsed_ms")
AT = "2026-11-29T14:15:00.000Z"
SHOWN = json.dumps({"run_id": "r", "model_version": "m", "payload": "positive", "confidence": 0.75})


def fill(project: Project, wanted: int) -> None:
    """Put `wanted` answers into the store, four annotators to an item; every fifth follows a suggestion."""
    database = Database(project.database_url)
    database.migrate()
    load_items(project, database)
    with database.write() as conn:
        people = [users.ensure(conn, f"ann{number:03}", utc_now()) for number in range(ANNOTATORS)]
        rows = list(_rows(people, wanted))
        for start in range(0, wanted, 20_000):
            insert_all(conn, annotations, COLUMNS, rows[start : start + 20_000])
    database.close()


def _rows(people: list[int], wanted: int) -> Iterator[tuple[object, ...]]:
    for number in range(wanted):
        if number % EACH == 0:
            chosen = random.sample(people, EACH)
        suggested = number % 5 == 0
        value = random.choice(['"positive"', '"negative"'])
        origin = ("accepted" if value == '"positive"' else "changed") if suggested else "none"
        shown = SHOWN if suggested else None
        yield (
            1 + number // EACH,
            chosen[number % EACH],
            "sentiment",
            value,
            AT,
            "page",
            origin,
            shown,
            1000 + number % 9000,
        )


def baseline(project: Project, out: Path) -> int:
    """SQLite's cursor and `json.dumps` of each row."""
    conn = sqlite3.connect(project.database_url.removeprefix("sqlite:///"))
    count = 0
    with out.open("w", encoding="utf-8") as file:
        for row in conn.execute("SELECT item, user, scheme, value, at FROM annotations ORDER BY item"):
            file.write(json.dumps(row) + "\n")
            count += 1
    return count


def child(config: Path, form: str) -> None:
    """Write one format and print what it took: this process's part."""
    project = load_or_raise(config)
    out = config.parent / f"out.{form}"
    before = peak_mb()
    started, worked = time.perf_counter(), time.process_time()
    if form == "baseline":
        count, equal = baseline(project, out), "-"
    else:
        database = Database(project.database_url)
        export_file(project, database, out, form)
        manifest = json.loads(Path(f"{out}.manifest.json").read_text())
        count = manifest["annotations"]
        equal = "yes" if manifest["by_scheme"] == _counted(project) else "NO"
    seconds, cpu = time.perf_counter() - started, time.process_time() - worked
    print(json.dumps([count, seconds, cpu, before, peak_mb(), equal]))


def peak_mb() -> float:
    """The most memory that this program has held; `getrusage` would tell the parent's too, which it was forked from."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # macOS counts bytes
    return int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def _counted(project: Project) -> dict[str, int]:
    conn = sqlite3.connect(project.database_url.removeprefix("sqlite:///"))
    return dict(conn.execute("SELECT scheme, count(*) FROM annotations GROUP BY scheme").fetchall())


def measure(config: Path, form: str) -> list[str]:
    """One line of the table."""
    done = subprocess.run(
        [sys.executable, __file__, "--child", str(config), "--formats", form],
        capture_output=True,
        text=True,
        check=True,
    )
    count, seconds, cpu, before, peak, equal = json.loads(done.stdout)
    figures = f"{seconds:.1f}", f"{count / seconds:,.0f}", f"{count / cpu:,.0f}", f"{before:.0f}", f"{peak:.0f}", equal
    return [form, *figures]


def main() -> None:
    """Measure and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--annotations", type=int, default=1_000_000)
    parser.add_argument("--formats", default=",".join(["baseline", *EXPORTERS]))
    parser.add_argument("--child", type=Path, default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        child(options.child, options.formats)
        return
    rows = []
    for wanted in (options.annotations // 10, options.annotations):
        with tempfile.TemporaryDirectory() as name:
            config = make_project(Path(name), wanted // EACH)
            fill(load_or_raise(config), wanted)
            for form in options.formats.split(","):
                first, *figures = measure(config, form)
                rows.append([f"{wanted:,} {first}", *figures])
    columns = ["", "seconds", "rows a second", "a second of CPU", "MB before", "MB peak", "manifest = store"]
    print_table(f"Export ({machine()})", columns, rows)


if __name__ == "__main__":
    main()
