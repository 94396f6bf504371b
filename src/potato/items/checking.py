"""What is wrong with the data files, without taking them in."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from potato.items.loading import load_items
from potato.items.problems import InvalidData, RowProblem
from potato.project import Project
from potato.store import Database


@dataclass(frozen=True)
class Survey:
    """What loading the data files into an empty project would come to."""

    problems: list[RowProblem]
    """The first problems of many; empty: the files can be loaded."""
    items: int
    """How many items they hold; 0 where they cannot be loaded."""
    unshown: list[RowProblem]
    """The first of the rows that name an image or a recording that cannot be shown."""


def survey(project: Project) -> Survey:
    """Load the data files into a store that is thrown away, so that the check finds just what a start would find."""
    with tempfile.TemporaryDirectory(prefix="potato-check-") as folder:
        database = Database(f"sqlite:///{Path(folder) / 'potato.db'}")
        try:
            database.migrate()
            report = load_items(project, database, lock_folder=Path(folder))
            return Survey([], report.added, report.unshown)
        except InvalidData as error:
            more = error.count - len(error.problems)
            rest = [RowProblem(error.problems[-1].file, None, f"and {more} more problems")] if more else []
            return Survey([*error.problems, *rest], 0, [])
        finally:
            database.close()


def findings(project: Project) -> list[RowProblem]:
    """What is wrong with the data files; empty: nothing."""
    return survey(project).problems
