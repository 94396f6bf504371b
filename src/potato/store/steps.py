"""An annotator's steps with one item, read from the history of their answers, so that each can be undone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, bindparam, select

from potato.schemes import Answer
from potato.store.databases.prepared import Prepared
from potato.store.tables import annotation_history as history

UNDO = "undo"
"""The source of a save that took the last step back."""

RENAME = "rename"
"""The source of an answer whose label was given another name: nobody's step."""

Step = dict[str, Answer | None]
"""The answers that a step changed, as they were before it; None where there was none."""

_HISTORY = Prepared(
    select(history.c.scheme, history.c.value, history.c.source, history.c.request_id, history.c.at)
    .where(history.c.item == bindparam("of_item"), history.c.user == bindparam("of_user"))
    .order_by(history.c.seq)
)


def steps(conn: Connection, user: int, item: int) -> list[Step]:
    """What can be undone, the first step first. A save that undid something is no step, and takes its step away."""
    found: list[Step] = []
    current: dict[str, Answer | None] = {}
    rows = _HISTORY.all(conn, of_item=item, of_user=user)
    for (source, _, _), group in groupby(rows, key=lambda row: row[2:]):
        saved = {scheme: value for scheme, value, *_ in group}
        if source == UNDO:
            _take_back(found, saved)
        elif source != RENAME:
            step = {scheme: current.get(scheme) for scheme in saved if current.get(scheme) != saved[scheme]}
            found += [step] if step else []
        current.update(saved)
    return found


def once_given(conn: Connection, user: int, item: int, answers: Mapping[str, Answer]) -> dict[str, Answer]:
    """Those of `answers` that the annotator has given to the item before: an undo may restore them, also where the
    project does not take them any more."""
    rows = _HISTORY.all(conn, of_item=item, of_user=user)
    given = [(scheme, value) for scheme, value, *_ in rows]
    return {scheme: answer for scheme, answer in answers.items() if (scheme, answer) in given}


def _take_back(found: list[Step], saved: Mapping[str, Any]) -> None:
    """Drop the steps that lead to what an undo restored, newest first: several that were undone may arrive as one.

    Several steps may have arrived as one too, and the undo restored what was between them: then that one step stays,
    which leads from there to what was before it.
    """
    restored: Step = {}
    for place in range(len(found) - 1, -1, -1):
        restored.update(found[place])
        if _equal(restored, saved):
            del found[place:]
            return


def _equal(restored: Mapping[str, Any], saved: Mapping[str, Any]) -> bool:
    names: Iterable[str] = restored.keys() | saved.keys()
    return all(restored.get(name) == saved.get(name) for name in names)
