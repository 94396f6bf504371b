"""What the API of automatic retraining answers."""

from __future__ import annotations

from typing import Literal

from potato.training.web.bodies import Body


class Wait(Body):
    """One reason not to start a run yet."""

    code: Literal["off", "no_schemes", "annotations", "interval", "going", "queued"]
    sentence: str


class DecisionBody(Body):
    """One line of the log."""

    at: str
    kind: Literal["waiting", "started", "refused", "took_over", "not_taken_over", "shown_anyway"]
    sentence: str
    run_id: str | None = None


class Retraining(Body):
    """Automatic retraining now."""

    enabled: bool
    trainer: str
    schemas: list[str]
    backend: str
    update_frequency: int
    min_interval_s: float
    changed: int
    """Answers given, changed or taken back since the last run, counted up to `update_frequency`."""
    waits: list[Wait]
    """Every reason not to start a run yet; none: one is started within seconds."""
    last_run: str | None = None
    """The newest run that trained these schemes, whoever started it."""
    refused: str | None = None
    """Why the last attempt to start a run was refused, where that still holds."""
    decisions: list[DecisionBody]
    """The newest first; the last 200 are kept."""
