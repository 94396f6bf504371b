"""Working out what a live model is least sure of, in the child process, in short transactions."""

from __future__ import annotations

from potato.project import Project
from potato.store import Database
from potato.store.databases.pieces import PIECE, in_pieces
from potato.store.training import rankings


def rank(database: Database, run_id: str) -> None:
    """Write a run's ranking anew."""
    remove(database, run_id)
    place = 0
    with database.read() as reading:
        for piece in in_pieces(rankings.order(reading, run_id)):
            with database.write() as connection:
                rankings.add(connection, run_id, place, list(piece))
            place += len(piece)
    with database.write() as connection:
        rankings.complete(connection, run_id)


def remove(database: Database, run_id: str) -> None:
    """Delete a run's ranking."""
    removed = PIECE
    while removed == PIECE:
        with database.write() as connection:
            removed = rankings.remove_some(connection, run_id, PIECE)


def keep(project: Project, database: Database) -> None:
    """Have the newest live run's ranking, where the project hands out by it, and no other."""
    with database.read() as connection:
        wanted = rankings.newest(connection) if is_wanted(project) else None
        others = rankings.ranked(connection) - {wanted}
        whole = wanted is None or rankings.is_complete(connection, wanted)
    for run_id in sorted(others):
        remove(database, run_id)
    if wanted is not None and not whole:
        rank(database, wanted)


def is_wanted(project: Project) -> bool:
    """Whether the project hands out by what a model is unsure of."""
    return project.config.assignment_strategy == "uncertainty"
