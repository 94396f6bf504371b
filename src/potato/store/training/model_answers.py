"""What a run said of the items, and what reviewers said of such answers: the records that a calibration learns from."""

from __future__ import annotations

import json
from collections.abc import Iterator

from sqlalchemy import Connection, Text, cast, func, select

from potato.schemes import Scheme
from potato.store.tables import predictions, verdicts
from potato.store.training.predictions import Stored, answer_key


def said_by(connection: Connection, run_id: str, scheme: str) -> Iterator[Stored]:
    """Every prediction of a run for a scheme, in the order of the items, streamed."""
    mine = (predictions.c.run_id == run_id, predictions.c.scheme == scheme)
    query = select(predictions).where(*mine).order_by(predictions.c.item)
    for row in connection.execute(query, execution_options={"yield_per": 2000}):
        yield Stored(row.item, row.scheme, row.payload, row.confidence, row.probabilities, row.gate)


def verdicts_on(connection: Connection, scheme: Scheme) -> dict[tuple[int, str], str]:
    """Item and answer (in the form of `answer_key`) → the newest verdict that stands on that answer, whichever run
    gave it."""
    query = select(verdicts.c.item, verdicts.c.payload, verdicts.c.verdict).where(
        verdicts.c.scheme == scheme.name, verdicts.c.superseded.is_(False)
    )
    rows = connection.execute(query.order_by(verdicts.c.seq))
    return {(row.item, answer_key(scheme, row.payload)): row.verdict for row in rows}


def count_above(connection: Connection, run_id: str, scheme: str, label: str, threshold: float) -> int:
    """How many of a run's pre-labels that may be shown answer `label` with at least that confidence."""
    query = select(func.count()).where(
        predictions.c.run_id == run_id,
        predictions.c.scheme == scheme,
        predictions.c.gate.is_(None),
        predictions.c.confidence >= threshold,
        cast(predictions.c.payload, Text) == json.dumps(label),  # PostgreSQL compares no JSON
    )
    return int(connection.execute(query).scalar_one())
