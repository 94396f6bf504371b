"""A project's store and folder as one value, for tests that nothing was changed."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import postgres
from conftest import ON_POSTGRES


def snapshot(folder: Path, seen: bool = True) -> dict[str, Any]:
    """Every row of the store, wherever that is, and the bytes of every other file below `folder`.

    Without `seen`, when agents were last heard is left out: it changes by itself.
    """
    found: dict[str, Any] = {}
    if ON_POSTGRES:
        for name, rows in postgres.rows_below(os.environ["POTATO_TEST_POSTGRES"], folder).items():
            found[name] = [row[:3] for row in rows] if name == "agent_tokens" and not seen else rows
    for path in sorted(folder.rglob("*")):
        if path.name == "potato.db":
            found.update(_rows(path, seen))
        elif path.is_file() and not path.name.startswith("potato.db"):
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def difference(before: dict[str, Any], after: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs between two snapshots, by its name."""
    names = before.keys() | after.keys()
    return {name: (before.get(name), after.get(name)) for name in names if before.get(name) != after.get(name)}


def _rows(database: Path, seen: bool) -> dict[str, list[Any]]:
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = {name: list(connection.execute(f'SELECT * FROM "{name}"')) for name in names}
    if not seen:
        rows["agent_tokens"] = [row[:3] for row in rows["agent_tokens"]]
    return rows
