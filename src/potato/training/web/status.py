"""What is going on: the run that executes, those that wait, and which one ended last."""

from __future__ import annotations

from typing import Any

from potato.store import Connection
from potato.store.training import runs as stored
from potato.training.runs.model import GOING, as_json


def status(connection: Connection) -> dict[str, Any]:
    """In the API's shape."""
    going = stored.in_states(connection, GOING)
    return {
        "current": as_json(going[0]) if going else None,
        "queue": [as_json(run) for run in stored.queue(connection)],
        "last_ended": stored.last_ended(connection),  # so that no run comes and goes between two looks unseen
    }
