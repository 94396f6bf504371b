"""What the review page shows, gathered in one read of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from potato.annotate.view import Ask
from potato.project import Project
from potato.review.asking import ask_alone
from potato.store import Connection, items
from potato.store.items import ItemRow
from potato.store.training import predictions, runs, verdicts
from potato.store.training.predictions import Suggestion
from potato.store.training.verdicts import Kept
from potato.training.results.decisions import Decision, can_be_taken
from potato.training.web.use import precision
from potato.web.media import Medium, medium_of, policy

OWN_KEYS = frozenset("arc")
"""Keys of the page itself. A label whose key is one of them is chosen with the mouse here, or with Tab and Space."""


@dataclass(frozen=True)
class Judging:
    """One pre-label before its reviewer. `kept` is the verdict that stands on it, where one is looked at again."""

    item: ItemRow
    ask: Ask
    suggestion: Suggestion
    kept: Kept | None
    decision: Decision | None
    """By which the answer can be taken without review, after a calibration."""
    image: Medium | None
    audio: Medium | None


@dataclass(frozen=True)
class Page:
    """The review page. `scheme` None: nothing is live. `judging` None: nothing waits, or nothing more past `after`.
    `policy` is its content security policy."""

    schemes: Sequence[str]
    scheme: str | None
    run_id: str | None
    judging: Judging | None
    waiting: int
    reviewed: dict[str, Any] | None
    past: bool
    policy: str


def review_page(
    connection: Connection, project: Project, reviewer: str, scheme: str | None, after: int | None, item: int | None
) -> Page:
    """The page of a scheme's queue past the item `after`, or of the very `item`."""
    live = predictions.live(connection)
    names = [name for name in project.schemes if name in live]
    chosen = scheme if scheme in names else (names[0] if names else None)
    if chosen is None:
        return Page(names, None, None, None, 0, None, past=False, policy=policy(connection))
    run_id = live[chosen]
    found = _found(connection, project, run_id, chosen, after, item)
    counted = verdicts.reviewed(connection, run_id).get(chosen)
    return Page(
        names,
        chosen,
        run_id,
        _judging(connection, project, reviewer, chosen, *found) if found else None,
        verdicts.count_waiting(connection, run_id, chosen),
        precision(counted) if counted else None,
        past=after is not None,
        policy=policy(connection),
    )


def _found(
    connection: Connection, project: Project, run_id: str, scheme: str, after: int | None, item: int | None
) -> tuple[int, Suggestion] | None:
    if item is not None:
        said = verdicts.of_live_run(connection, run_id, scheme, item)
        return None if said is None else (item, said)
    for entry in verdicts.queue(connection, run_id, scheme, project.schemes, 1, after):
        return entry.item, entry.suggestion
    return None


def _judging(
    connection: Connection, project: Project, reviewer: str, scheme: str, number: int, said: Suggestion
) -> Judging:
    item = items.by_seq(connection, number)
    assert item is not None  # a prediction's item is never deleted
    kept = verdicts.standing(connection, said.run_id, scheme, number)
    return Judging(
        item,
        ask_alone(project, item, reviewer, project.schemes[scheme], kept and kept.given, said, OWN_KEYS),
        said,
        kept,
        can_be_taken(runs.get_or_raise(connection, said.run_id), scheme, said.payload, said.confidence),
        image=medium_of(project, item, "image"),
        audio=medium_of(project, item, "audio"),
    )
