"""All that was said of one item, by people and by models: what the administrator's page of an item reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, exists, false, func, literal, select

from potato.store import tables
from potato.store.tables import assignments, held_out_answers, live_runs, runs, users


class Answer(NamedTuple):
    """An annotator's present answer to one question. `extra`: enough others had answered the item already."""

    annotator: str
    scheme: str
    value: Any
    at: str
    origin: str
    extra: bool


class Skip(NamedTuple):
    """An annotator who skipped the item."""

    annotator: str
    reason: str | None
    at: str


class Prediction(NamedTuple):
    """What a run said; `live`: the run supplies the scheme's pre-labels at present. `gate` as in `predictions`."""

    run_id: str
    trainer: str
    scheme: str
    said: Any
    confidence: float | None
    gate: str | None
    live: bool


def answers(conn: Connection, item: int) -> list[Answer]:
    """The item's answers, by question, then annotator."""
    a = tables.annotations.c
    query = (
        select(users.c.name, a.scheme, a.value, a.at, a.origin, func.coalesce(assignments.c.extra, false()))
        .join(users, users.c.id == a.user)
        .outerjoin(assignments, and_(assignments.c.item == a.item, assignments.c.user == a.user))
        .where(a.item == item)
        .order_by(a.scheme, users.c.name)
    )
    return [Answer(*row[:5], extra=bool(row[5])) for row in conn.execute(query)]


def skips(conn: Connection, item: int) -> list[Skip]:
    """Who skipped the item, by name."""
    query = (
        select(users.c.name, assignments.c.reason, assignments.c.at)
        .join(users, users.c.id == assignments.c.user)
        .where(assignments.c.item == item, assignments.c.state == "skipped")
        .order_by(users.c.name)
    )
    return [Skip(*row) for row in conn.execute(query)]


def predictions(conn: Connection, item: int, schemes: Sequence[str], limit: int) -> list[Prediction]:
    """What runs said of the item for these schemes, the newest `limit`, newest first; of runs whose predictions were
    removed, what they were scored on."""
    p, h = tables.predictions, held_out_answers
    live = exists().where(live_runs.c.scheme == p.c.scheme, live_runs.c.run_id == p.c.run_id)
    stored = exists().where(p.c.run_id == h.c.run_id, p.c.scheme == h.c.scheme, p.c.item == h.c.item)
    queries = (
        select(
            p.c.run_id, runs.c.trainer, p.c.scheme, p.c.payload, p.c.confidence, p.c.gate, live, runs.c.created_at
        ).where(p.c.scheme.in_(schemes), p.c.item == item, runs.c.run_id == p.c.run_id),
        select(
            h.c.run_id,
            runs.c.trainer,
            h.c.scheme,
            h.c.said,
            h.c.confidence,
            literal("held_out"),
            literal(False),
            runs.c.created_at,
        ).where(h.c.item == item, runs.c.run_id == h.c.run_id, ~stored),
    )
    found = [
        row
        for query in queries
        for row in conn.execute(query.where(runs.c.state == "success").order_by(runs.c.created_at.desc()).limit(limit))
    ]
    found.sort(key=lambda row: row.created_at, reverse=True)
    return [Prediction(row[0], row[1], row[2], row[3], row[4], gate=row[5], live=bool(row[6])) for row in found[:limit]]
