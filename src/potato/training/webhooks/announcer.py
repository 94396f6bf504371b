"""Writes into the outbox what happens to runs and pre-labels, within the transaction in which it happens."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from potato.project import Project
from potato.project.webhooks import TEST
from potato.store import Connection
from potato.store.clock import Clock, to_text, utc_now
from potato.store.training import deliveries
from potato.store.training.runs import Run, State
from potato.training.webhooks.hooks import Hook, hooks_of

_EVENTS = {
    State.QUEUED: "run.queued",
    State.BUILDING: "run.started",
    State.SUCCESS: "run.succeeded",
    State.ERROR: "run.failed",
    State.CANCELLED: "run.cancelled",
}

_FIELDS = (
    "run_id",
    "trainer",
    "trigger",
    "started_by",
    "backend",
    "backend_type",
    "created_at",
    "started_at",
    "finished_at",
    "counts",
    "model_version",
    "error",
)


def new_id() -> str:
    """A delivery's id."""
    return secrets.token_hex(16)


class Announcer:
    """Its methods take the connection of the transaction in which something changes. Without webhooks they do nothing.

    The points of a learning curve are no news, and are not announced.
    """

    def __init__(
        self, project: str, hooks: Sequence[Hook], clock: Clock = utc_now, new_id: Callable[[], str] = new_id
    ) -> None:
        self._project = project
        self._hooks = hooks
        self._clock = clock
        self._new_id = new_id

    @classmethod
    def of(cls, project: Project, clock: Clock = utc_now) -> Announcer:
        """The announcer of a project's webhooks."""
        return cls(project.config.annotation_task_name, hooks_of(project), clock)

    def run(self, connection: Connection, run: Run) -> None:
        """The run has come into the state it is in."""
        event = _EVENTS.get(run.state)
        if event is not None and run.curve_of is None:
            self._tell(connection, event, {"run": _run(run)})

    def shown(self, connection: Connection, run: Run, replaced: Mapping[str, str]) -> None:
        """The run's pre-labels are shown now, where it has any; `replaced` maps a scheme to the run before it."""
        if run.live:
            told = {"schemas": list(run.live), "count": run.shown, "replaced": dict(replaced)}
            self._tell(connection, "prelabels.shown", {"run": _run(run), "prelabels": told})

    def withdrawn(self, connection: Connection, run: Run, schemas: Sequence[str], count: int | None) -> None:
        """The run's pre-labels are shown no longer; `count` of them were."""
        told = {"schemas": list(schemas), "count": count}
        self._tell(connection, "prelabels.withdrawn", {"run": _run(run), "prelabels": told})

    def test(self, connection: Connection, hook: Hook) -> str:
        """Send an event that says nothing to one address; the delivery's id."""
        return self._add(connection, hook, TEST, {"message": "A test of this webhook"})

    def _tell(self, connection: Connection, event: str, about: Mapping[str, Any]) -> None:
        for hook in self._hooks:
            if hook.takes(event):
                self._add(connection, hook, event, about)

    def _add(self, connection: Connection, hook: Hook, event: str, about: Mapping[str, Any]) -> str:
        at, identifier = to_text(self._clock()), self._new_id()
        body = {"id": identifier, "event": event, "at": at, "project": self._project, **about}
        deliveries.add(connection, hook.key, identifier, event, json.dumps(body), at)
        return identifier


SILENT = Announcer("", [])
"""Tells nobody."""


def _run(run: Run) -> dict[str, Any]:
    """What others are told of a run: no params, which may name folders, and of its scores the first."""
    told = {name: getattr(run, name) for name in _FIELDS}
    scores = {scheme: score.get("primary") for scheme, score in run.scores.items()}
    return {**told, "state": run.state.value, "schemas": list(run.schemas), "scores": scores}
