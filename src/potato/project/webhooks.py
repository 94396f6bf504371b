"""The events that a webhook may be told of. The docs' table is made from here."""

from __future__ import annotations

from typing import Literal, get_args

EventName = Literal[
    "run.queued",
    "run.started",
    "run.succeeded",
    "run.failed",
    "run.cancelled",
    "prelabels.shown",
    "prelabels.withdrawn",
]

EVENTS: tuple[str, ...] = get_args(EventName)

TEST = "test"
"""The event that a person sends to try an address; every webhook takes it."""

MEANINGS = {
    "run.queued": "a run was asked for, by a person, a program or automatic retraining",
    "run.started": "it left the queue",
    "run.succeeded": "it ended well; the body has its held-out scores",
    "run.failed": "it ended with an error; the body has the sentence and the hint",
    "run.cancelled": "somebody stopped it",
    "prelabels.shown": "suggestions of a run are shown to annotators from now on, in place of those of `replaced`",
    "prelabels.withdrawn": "a run's suggestions are shown no longer",
    TEST: "somebody pressed **Test**",
}
