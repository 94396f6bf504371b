"""Trying a webhook from the command line: one request, beside the outbox."""

from __future__ import annotations

import json

from potato.project import Project
from potato.project.webhooks import TEST
from potato.store.clock import Clock, to_text, utc_now
from potato.store.training.deliveries import Delivery, Stage
from potato.training.webhooks.announcer import new_id
from potato.training.webhooks.hooks import Hook
from potato.training.webhooks.sending import Outcome, send


def try_now(project: Project, hook: Hook, clock: Clock = utc_now) -> Outcome:
    """Send a test event, and tell what became of it; nothing is stored."""
    at, identifier = to_text(clock()), new_id()
    told = {"id": identifier, "event": TEST, "at": at, "project": project.config.annotation_task_name}
    body = json.dumps({**told, "message": "A test of this webhook"})
    delivery = Delivery(0, identifier, hook.key, TEST, body, at, Stage.WAITING, 0, at, None, None, None)
    return send(hook, delivery, lambda: clock().timestamp())
