"""What automatic retraining goes by: how much has changed since a run, and the log of what was decided.

Nothing here is counted when an answer is saved: the answers' history has it all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select

from potato.store.tables import annotation_history, decisions
from potato.store.training import runs as runs_
from potato.store.training.runs import Run

KEPT = 200
"""Decisions that are kept, the newest."""

REFUSAL = "retraining_refused"
"""The fact that holds the last refusal: `upto` (the line of history that it reflects) and `reason`."""

_PAGE = 50


@dataclass(frozen=True)
class Decision:
    """One line of the log. `kind` is one of waiting, started, refused, took_over, not_taken_over, shown_anyway."""

    at: str
    kind: str
    sentence: str
    run_id: str | None


def changed_since(connection: Connection, schemes: Sequence[str], mark: int, enough: int) -> int:
    """How many answers to `schemes` were given, changed or taken back after the line `mark` of the history, counted up
    to `enough`. An answer that was changed twice counts once, and a label's new name is no change."""
    h = annotation_history.c
    some = (
        select(h.item + 0, h.user + 0, h.scheme)  # so that no index leads past `seq`: few lines are newer than the mark
        .where(h.seq > mark, h.scheme.in_(list(schemes)), h.source != "rename")
        .distinct()
        .limit(enough)
        .subquery()
    )
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one())


NO_LESSON = frozenset({"decision-calibrate"})
"""Trainers whose runs learn nothing from labels, so that these still wait for one that does."""


def last_run(connection: Connection, schemes: Sequence[str]) -> Run | None:
    """The newest run that trained all of these schemes, or is to, whoever started it; points of curves aside."""
    before: str | None = None
    while page := runs_.page(connection, _PAGE, before):
        for run in page:
            if run.curve_of is None and run.trainer not in NO_LESSON and set(schemes) <= set(run.schemas):
                return run
        before = page[-1].run_id
    return None


def log(connection: Connection, decision: Decision) -> None:
    """Write a decision down, and forget the oldest where there are more than `KEPT`."""
    seq = connection.execute(insert(decisions).returning(decisions.c.seq), vars(decision)).scalar_one()
    connection.execute(delete(decisions).where(decisions.c.seq <= seq - KEPT))


def decided(connection: Connection, limit: int = KEPT) -> list[Decision]:
    """The decisions, the newest first."""
    query = select(decisions).order_by(decisions.c.seq.desc()).limit(limit)
    return [Decision(row.at, row.kind, row.sentence, row.run_id) for row in connection.execute(query)]
