"""Opening a project's store for a command."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from potato.project import Project
    from potato.store import Database


@contextlib.contextmanager
def opened(file: Path, *, load: bool = False) -> Iterator[tuple[Project, Database]]:
    """The project of `file` and its store, brought to this version's tables; with `load`, items too, if it has none."""
    from potato.items.tasks import load as load_items
    from potato.project.loading import load_or_raise
    from potato.store import Database, items

    project = load_or_raise(file)
    database = Database(project.database_url)
    try:
        database.migrate()
        if load:
            with database.read() as conn:
                empty = not items.count(conn)
            if empty:
                load_items(project, database, {})
        yield project, database
    finally:
        database.close()
