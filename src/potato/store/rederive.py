"""Working out anew what is derived from answers, when the project's rules have changed.

Runs before the server serves, in one transaction: it may take seconds on a large project, and happens once a change.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, delete, func, insert, literal, or_, select, update

from potato.schemes import Answer, Scheme
from potato.store import facts
from potato.store.annotations import Entry, record
from potato.store.clock import to_text
from potato.store.databases.database import Database
from potato.store.items import visible
from potato.store.rules import Rules
from potato.store.settling import ITEMS_DONE, TAKES, State
from potato.store.tables import annotation_history as history
from potato.store.tables import annotations as answers_
from potato.store.tables import assignments, cursors, items, returned, users, wanted

FACT = "rules"
_PIECE = 2_000

_ANSWERS = select(answers_.c.item, answers_.c.user, answers_.c.scheme, answers_.c.value).order_by(
    answers_.c.item, answers_.c.user
)
_STATES = select(assignments.c.item, assignments.c.user, assignments.c.state)
_NOT_DONE_IS_NOT_EXTRA = (
    update(assignments).where(assignments.c.extra, assignments.c.state != State.DONE.value).values(extra=False)
)
_CROWDED = (  # items with answers that are extra, or were
    select(assignments.c.item)
    .where(assignments.c.state == State.DONE.value, assignments.c.item > bindparam("after"))
    .group_by(assignments.c.item)
    .having(or_(func.count() > bindparam("target"), func.max(case((assignments.c.extra, 1), else_=0)) == 1))
    .order_by(assignments.c.item)
    .limit(_PIECE)
)
_FIRST = (
    select(history.c.item, history.c.user, func.min(history.c.at).label("at"))
    .where(history.c.item.in_(bindparam("items", expanding=True)))
    .group_by(history.c.item, history.c.user)
    .subquery()
)
_IN_ORDER = (
    select(assignments.c.item, assignments.c.user, assignments.c.extra)
    .outerjoin(_FIRST, and_(_FIRST.c.item == assignments.c.item, _FIRST.c.user == assignments.c.user))
    .where(assignments.c.state == State.DONE.value, assignments.c.item.in_(bindparam("items", expanding=True)))
    .order_by(assignments.c.item, assignments.c.extra, func.coalesce(_FIRST.c.at, assignments.c.at), assignments.c.user)
)
_SET_EXTRA = (
    update(assignments)
    .where(assignments.c.item == bindparam("of_item"), assignments.c.user == bindparam("of_user"))
    .values(extra=bindparam("new"))
)
_SET_STATE = (
    update(assignments)
    .where(assignments.c.item == bindparam("of_item"), assignments.c.user == bindparam("of_user"))
    .values(state=bindparam("new"), leased_until=None)
)


def rederive(database: Database, rules: Rules, now: datetime) -> bool:
    """Bring states and counts to `rules`, if they were worked out under others; whether that was so."""
    print_ = rules.fingerprint()
    with database.read() as conn:
        before = facts.get(conn, FACT)
    if before == print_:
        return False
    with database.write() as conn:
        if before is not None:
            _rename(conn, rules, to_text(now))
            _states(conn, rules)
            _extra(conn, rules.target)
            _counts(conn, rules.target)
        facts.put(conn, FACT, print_)
    return before is not None


def _rename(conn: Connection, rules: Rules, at: str) -> None:
    """Carry answers over to the labels' new names, as `label_renames` says, with a line of history each."""
    renaming = [scheme for scheme in rules.schemes.values() if scheme.label_renames]
    for scheme in renaming:
        found = select(answers_).where(answers_.c.scheme == scheme.name)
        entries = [_renamed(row, scheme, at) for row in conn.execute(found)]
        changed = [entry for entry in entries if entry is not None]
        for start in range(0, len(changed), _PIECE):
            record(conn, changed[start : start + _PIECE])


def _renamed(row: Any, scheme: Scheme, at: str) -> Entry | None:
    new = scheme.renamed(row.value)
    if new == row.value:
        return None
    how = (row.origin, row.suggestion, row.elapsed_ms, row.shown)
    return Entry(row.item, row.user, scheme.name, new, at, "rename", *how)


def _states(conn: Connection, rules: Rules) -> None:
    """Whoever has answered all that is asked now is done; whoever was done and has not gets the item again."""
    done = {key for key, answers in _by_annotator(conn) if rules.is_done(answers)}
    changed = []
    for item, user, state in conn.execute(_STATES):
        if (item, user) in done and state in (State.OPEN.value, State.LAPSED.value):
            changed.append({"of_item": item, "of_user": user, "new": State.DONE.value})
        elif (item, user) not in done and state == State.DONE.value:
            changed.append({"of_item": item, "of_user": user, "new": State.LAPSED.value})
    for start in range(0, len(changed), _PIECE):
        conn.execute(_SET_STATE, changed[start : start + _PIECE])


def _extra(conn: Connection, target: int) -> None:
    """Which of an item's answers go beyond the target: those that came last."""
    conn.execute(_NOT_DONE_IS_NOT_EXTRA)
    last = 0
    while crowded := conn.execute(_CROWDED, {"after": last, "target": target}).scalars().all():
        last = crowded[-1]
        changed = [
            {"of_item": item, "of_user": user, "new": place >= target}
            for item, rows in groupby(conn.execute(_IN_ORDER, {"items": crowded}), key=lambda row: row[0])
            for place, (_, user, was) in enumerate(rows)
            if bool(was) is not (place >= target)
        ]
        for start in range(0, len(changed), _PIECE):
            conn.execute(_SET_EXTRA, changed[start : start + _PIECE])


def _by_annotator(conn: Connection) -> Iterator[tuple[tuple[int, int], dict[str, Answer]]]:
    for key, rows in groupby(conn.execute(_ANSWERS), key=lambda row: (row[0], row[1])):
        yield key, {row[2]: row[3] for row in rows}


def _counts(conn: Connection, target: int) -> None:
    for table in (wanted, returned, cursors):
        conn.execute(delete(table))
    takes = case((assignments.c.state.in_([state.value for state in TAKES]), 1), else_=0)
    is_done = case((assignments.c.state == State.DONE.value, 1), else_=0)
    per_item = (
        select(assignments.c.item, func.sum(takes).label("taken"), func.sum(is_done).label("done"))
        .group_by(assignments.c.item)
        .subquery()
    )
    taken = func.coalesce(per_item.c.taken, literal(0))
    still = (
        select(items.c.seq, taken)
        .outerjoin(per_item, per_item.c.item == items.c.seq)
        .where(items.c.seq <= visible(), taken < target)
        .order_by(items.c.seq)
    )
    conn.execute(insert(wanted).from_select(["item", "taken"], still))
    done = conn.execute(select(func.count()).select_from(per_item).where(per_item.c.done >= target)).scalar() or 0
    facts.set_tally(conn, ITEMS_DONE, done)
    conn.execute(update(users).values(done=_of_user(State.DONE), skipped=_of_user(State.SKIPPED)))


def _of_user(state: State) -> Any:
    return (
        select(func.count())
        .where(assignments.c.user == users.c.id, assignments.c.state == state.value)
        .correlate(users)
        .scalar_subquery()
    )
