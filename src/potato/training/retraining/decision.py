"""Should a run start by itself now? A pure function of the settings and of what the store says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from potato.project import Project
from potato.project.training import AutoRetrain
from potato.store import Connection, facts
from potato.store.clock import from_text
from potato.store.training import corpus, retraining
from potato.store.training import runs as rows
from potato.store.training.runs import GOING, Run, State


@dataclass(frozen=True)
class Situation:
    """`changed` counts answers given, changed or taken back since `last`, up to `update_frequency`, and `more` says
    whether there were more; `newest` is the last line of their history. `since_s` is None where no run has ended yet.
    `refused` says why the last attempt came to nothing."""

    changed: int
    newest: int
    going: bool
    queued: bool
    last: Run | None
    since_s: float | None
    refused: str | None
    more: bool = False


@dataclass(frozen=True)
class Wait:
    """One reason not to start yet: a word for programs, and a sentence."""

    code: str
    sentence: str


def look(connection: Connection, project: Project, now: datetime) -> Situation:
    """What the store says now."""
    settings = project.config.model_training.auto_retrain
    last = retraining.last_run(connection, settings.schemas)
    refusal = facts.get(connection, retraining.REFUSAL) or {"upto": 0, "reason": None}
    learned = last.labels_upto or 0 if last else 0
    mark, enough = max(learned, refusal["upto"]), settings.update_frequency
    changed = retraining.changed_since(connection, settings.schemas, mark, enough + 1) if settings.enabled else 0
    return Situation(
        changed=min(changed, enough),
        newest=corpus.newest_change(connection),
        going=bool(rows.in_states(connection, GOING)),
        queued=bool(rows.queue(connection)),
        last=last,
        since_s=(now - from_text(last.finished_at)).total_seconds() if last and last.finished_at else None,
        refused=refusal["reason"] if refusal["upto"] > learned else None,
        more=changed > enough,
    )


def waits(settings: AutoRetrain, situation: Situation) -> Sequence[Wait]:
    """Every reason not to start a run now; none: start one."""
    found = []
    if not settings.enabled:
        return [Wait("off", "automatic retraining is off")]
    if not settings.schemas:
        return [Wait("no_schemes", "no scheme is listed under auto_retrain.schemas")]
    missing = settings.update_frequency - situation.changed
    if missing > 0:
        found.append(Wait("annotations", f"waiting for {missing} more annotation{'' if missing == 1 else 's'}"))
    left = math.ceil(settings.min_interval_s - max(0.0, situation.since_s)) if situation.since_s is not None else 0
    if left > 0:
        found.append(Wait("interval", f"waiting {left} more second{'' if left == 1 else 's'} since the last run"))
    if situation.going:
        found.append(Wait("going", "a run is going"))
    if situation.queued:
        found.append(Wait("queued", "a run waits in the queue"))
    return found


def trigger(settings: AutoRetrain, situation: Situation) -> str:
    """What made a run start, in a sentence."""
    count = f"{settings.update_frequency} or more" if situation.more else f"{settings.update_frequency}"
    annotations, were = ("1 annotation", "was") if count == "1" else (f"{count} annotations", "were")
    if situation.last is None:
        return f"{annotations} came in, and no run has trained on {', '.join(settings.schemas)} yet"
    ended = {State.ERROR: ", which failed", State.CANCELLED: ", which was cancelled"}.get(situation.last.state, "")
    return f"{annotations} {were} given, changed or taken back since run {situation.last.run_id}{ended}"
