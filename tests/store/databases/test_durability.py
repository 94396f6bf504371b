"""An acknowledged save outlives whatever happens, once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import postgres
import training_scenes
from conftest import ON_POSTGRES
from makers import NOW, Small, later, small, write_rows
from potato.items.exporting import export_file
from potato.items.importing import import_labels
from potato.store import Writer, annotations, assignments, users
from potato.store.annotations import Save
from potato.store.clock import to_text
from potato.store.training import predictions
from potato.store.training.predictions import Stored

FAULTS = int(os.environ.get("POTATO_FAULTS") or (40 if os.environ.get("CI") == "true" and not ON_POSTGRES else 10))
FEW = int(os.environ.get("POTATO_FAULTS") or 6)

SAVING = """
import sys, threading, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
import pytest
from makers import NOW, Small, project_in
from potato.store import Database, Writer, annotations, users
from potato.store.annotations import Save
from potato.store.databases.unreachable import StoreUnreachable

project = project_in(Path(sys.argv[1]))
database = Database(project.database_url)
rules = Small(project, database).rules
writer = Writer(database)
writer.start()
first, say = int(sys.argv[3]), threading.Lock()

def save(order):
    while True:
        try:
            return writer.call(lambda conn: annotations.save(conn, order, rules))
        except StoreUnreachable:
            time.sleep(0.05)  # as the page does

def annotate(name):
    user = writer.call(lambda conn: users.ensure(conn, name, NOW))
    for n in range(first, first + 100_000):
        request = f"{name}-{n}"
        order = Save(user, n % 50 + 1, {"sentiment": "positive" if n % 2 else "negative"}, NOW, request_id=request)
        for _ in range(1 + n % 2):
            save(order)
        with say:
            print(request, flush=True)

for name in ("ann", "bob", "cem"):
    threading.Thread(target=annotate, args=(name,), daemon=True).start()
threading.Event().wait()
"""


@pytest.mark.timeout(120 + 15 * FAULTS)
def test_kill_9_at_any_instant_loses_no_acknowledged_answer_and_doubles_none(tmp_path: Path) -> None:
    """annotation 34"""
    chance = random.Random(7)
    acknowledged: list[str] = []
    with small(tmp_path, 50, annotations_per_item=3) as project:
        command = [sys.executable, "-c", SAVING, str(tmp_path), str(Path(__file__).parents[2])]
        for fault in range(FAULTS):
            acknowledged += killed_after(command, fault * 100_000, chance.uniform(0.0, 0.15))
            check_records(project, acknowledged)
    assert len(acknowledged) > FAULTS


@pytest.mark.skipif(ON_POSTGRES, reason="starts a PostgreSQL of its own, whatever the others have")
@pytest.mark.timeout(180 + 30 * FEW)
def test_neither_kill_9_nor_a_crash_of_postgresql_loses_an_acknowledged_answer(tmp_path: Path) -> None:
    chance = random.Random(8)
    acknowledged: list[str] = []

    def crash() -> None:
        server.stop(signal.SIGQUIT)
        server.start()

    with (
        postgres.start(settings=()) as server,
        small(tmp_path, 50, annotations_per_item=3, database_url=server.url()) as project,
    ):
        command = [sys.executable, "-c", SAVING, str(tmp_path), str(Path(__file__).parents[2])]
        for fault in range(FEW):
            first = crash if fault % 2 else lambda: None
            acknowledged += killed_after(command, fault * 100_000, chance.uniform(0.0, 0.15), first)
            check_records(project, acknowledged)
    assert len(acknowledged) > FEW


def killed_after(
    command: list[str], first: int, seconds: float, before: Callable[[], None] = lambda: None
) -> list[str]:
    """Let it save for so long after its first acknowledgement, kill it, and give what it acknowledged; `before` the
    kill, something else may befall it."""
    child = subprocess.Popen([*command, str(first)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    lines = [child.stdout.readline()]
    assert lines[0]
    reading = threading.Thread(target=lambda: lines.extend(child.stdout))
    reading.start()
    reading.join(seconds)
    try:
        before()
    finally:
        child.kill()
    child.wait()
    reading.join()
    child.stdout.close()
    return [line.strip() for line in lines if line.endswith("\n")]


def check_records(project: Small, acknowledged: list[str]) -> None:
    with project.database.read() as conn:
        if project.database.is_sqlite:
            assert conn.exec_driver_sql("PRAGMA integrity_check").scalar() == "ok"
        stored = list(conn.exec_driver_sql("SELECT request_id FROM annotation_history").scalars())
        answers = conn.exec_driver_sql("SELECT count(*) FROM annotations").scalar()
        last = conn.exec_driver_sql(
            "SELECT count(*) FROM annotations a JOIN annotation_history h ON h.seq = (SELECT max(seq) FROM "
            'annotation_history WHERE item = a.item AND "user" = a."user") '
            "WHERE CAST(h.value AS text) = CAST(a.value AS text)"
        ).scalar()
    assert set(acknowledged) <= set(stored)
    assert len(stored) == len(set(stored))
    assert answers == last


def test_thirty_annotators_an_import_exports_and_predictions_at_once_lose_nothing(tmp_path: Path) -> None:
    """annotation 33"""
    each, imported = 20, 3_000
    with small(tmp_path, 3_600) as project:
        lines = [
            {"id": str(n), "annotator": "file", "annotations": {"sentiment": "positive"}}
            for n in range(1, imported + 1)
        ]
        labels = write_rows(tmp_path, lines, "labels.jsonl")
        writer = Writer(project.database)
        writer.start()
        failures: list[BaseException] = []
        saved: list[tuple[int, int]] = []
        work = [lambda k=k: saved.extend(annotate(writer, project, k, each)) for k in range(30)]
        work.append(lambda: import_labels(project.project, project.database, labels, clock=lambda: NOW))
        work.extend(lambda k=k: export_whole(project, tmp_path / f"out{k}.jsonl") for k in range(3))
        work.append(lambda: predict(project, 3_600))
        threads = [threading.Thread(target=guarded, args=(each_work, failures)) for each_work in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writer.close()
        assert failures == []
        assert len(set(saved)) == 30 * each
        counts = export_file(project.project, project.database, tmp_path / "last.jsonl").as_json()
        assert counts["annotations"] == 30 * each + imported
        assert counts["pre_labels"] == {"sentiment": 3_600}


def annotate(writer: Writer, project: Small, k: int, count: int) -> list[tuple[int, int]]:
    user = writer.call(lambda conn: users.ensure(conn, f"user {k}", NOW))
    saved = []
    for n in range(count):
        at = later(seconds=n)
        item = writer.call(lambda conn, at=at: assignments.next_item(conn, user, at, project.rules))
        assert isinstance(item, int)
        order = Save(user, item, {"sentiment": "negative"}, at, request_id=f"{k}-{n}")
        assert writer.call(lambda conn, order=order: annotations.save(conn, order, project.rules)).item_done
        saved.append((user, item))
    return saved


def predict(project: Small, count: int) -> None:
    """Take in a run's predictions, piece by piece, and show them."""
    run = training_scenes.succeeded(1)
    with project.database.write() as conn:
        training_scenes.add(conn, run)
    for first in range(1, count + 1, 600):
        rows = [Stored(n, "sentiment", "positive", 0.9, None, None) for n in range(first, first + 600)]
        with project.database.write() as conn:
            predictions.add(conn, run.run_id, rows)
    with project.database.write() as conn:
        predictions.set_live(conn, run.run_id, ["sentiment"], to_text(NOW))


def export_whole(project: Small, path: Path) -> None:
    export_file(project.project, project.database, path)
    manifest = json.loads(Path(f"{path}.manifest.json").read_text())
    assert len(path.read_text().splitlines()) == manifest["lines"]


def guarded(work: Any, failures: list[BaseException]) -> None:
    try:
        work()
    except BaseException as error:
        failures.append(error)


def test_a_save_waits_for_no_longer_than_a_piece_of_an_import(tmp_path: Path) -> None:
    with small(tmp_path, 8_000) as project:
        lines = [{"id": str(n), "annotator": "file", "annotations": {"sentiment": "positive"}} for n in range(1, 8_001)]
        labels = write_rows(tmp_path, lines, "labels.jsonl")
        ann = project.user("ann")
        saves = 0
        thread = threading.Thread(target=import_labels, args=(project.project, project.database, labels))
        thread.start()
        while thread.is_alive():
            saves += 1
            project.save(ann, 8_000, {"sentiment": "negative"}, later(seconds=saves))
        assert saves >= 5, "one that waits for the whole import leaves no time for others"
