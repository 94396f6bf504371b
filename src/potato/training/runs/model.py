"""A run as the rest of the program and the API see it."""

from __future__ import annotations

from typing import Any

from potato.store.training.runs import FINISHED, GOING, TRANSITIONS, NotAllowed, Run, State, UnknownRun

__all__ = ["FINISHED", "GOING", "TRANSITIONS", "NotAllowed", "Run", "State", "UnknownRun", "as_json", "live_prelabels"]


def live_prelabels(run: Run) -> int:
    """How many of the run's pre-labels annotators may be shown at present."""
    return run.shown


def as_json(run: Run) -> dict[str, Any]:
    """The run in the API's shape. Times are UTC, ISO 8601; what is not known yet is null or empty."""
    return {
        "run_id": run.run_id,
        "state": run.state.value,
        "step": run.step,
        "trainer": run.trainer,
        "schemas": list(run.schemas),
        "params": run.params,
        "trigger": run.trigger,
        "started_by": run.started_by,
        "backend": run.backend,
        "backend_type": run.backend_type,
        "host": run.host,
        "device": run.device,
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "cancel_requested_at": run.cancel_requested_at,
        "attempt": run.attempt,
        "counts": run.counts,
        "bundle_digest": run.digest,
        "progress": run.progress,
        "metrics": run.metrics,
        "scores": run.scores,
        "writeback": run.writeback,
        "live_schemas": list(run.live),
        "live_prelabels": live_prelabels(run),
        "model_version": run.model_version,
        "label_order": run.label_order,
        "artifact_uri": run.artifact_uri,
        "published": list(run.published),
        "warnings": list(run.warnings),
        "error": run.error,
        "files_removed": run.files_removed,
        "train_share": run.train_share,
        "curve_of": run.curve_of,
    }
