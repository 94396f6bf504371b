"""What a run's page shows of a calibration: whether it helped, and which answers can be taken without review."""

from __future__ import annotations

from typing import Any

from potato.store import Connection
from potato.store.training.model_answers import count_above
from potato.store.training.runs import Run
from potato.training.results.decisions import Decision, decisions


def section(connection: Connection, run: Run) -> list[dict[str, Any]]:
    """For each scheme that the run calibrated: its figures, and a row for each label."""
    shown = []
    for scheme in run.schemas:
        found = decisions(run, scheme)
        if found:
            rows = [_row(connection, run, scheme, decision) for decision in found.values()]
            shown.append({"scheme": scheme, "figures": run.metrics[scheme], "rows": rows})
    return shown


def _row(connection: Connection, run: Run, scheme: str, decision: Decision) -> dict[str, Any]:
    sure = decision.confidence
    return {
        **vars(decision),
        "above": count_above(connection, run.run_id, scheme, decision.label, sure) if sure is not None else 0,
    }
