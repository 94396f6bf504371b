"""Working out anew what is derived from answers, when the project's rules have changed.

Runs before the server serves, in one transaction: it may take seconds on a large project, and happens once a change.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, func, insert, literal, or_, select, update

from potato.schemes import Answer, Scheme
from potato.store import adjudications, facts
from potato.store.annotations import Entry, record
from potato.store.databases.database import Database
from potato.store.items import visible
from potato.store.rules import Rules
from potato.store.settling import ITEMS_DONE, TAKES, State
from potato.store.steps import RENAME
from potato.store.tables import annotation_history as history
from potato.store.tables import annotations as answers_
from potato.store.tables import assignments, cursors, items, returned, users, wanted

FACT = "rules"
MIXED = "mixed"
"""In place of the rules: states were worked out by several."""
_PIECE = 2_000
_ANY = select(assignments.c.item).limit(1)

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
_DONE_OF = select(assignments.c.item, assignments.c.user, assignments.c.extra).where(
    assignments.c.state == State.DONE.value, assignments.c.item.in_(bindparam("items", expanding=True))
)
_HISTORY_OF = (
    select(history.c.item, history.c.user, history.c.scheme, history.c.value, history.c.at, history.c.seq)
    .where(history.c.item.in_(bindparam("items", expanding=True)))
    .order_by(history.c.item, history.c.user, history.c.seq)
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


def rederive(database: Database, rules: Rules) -> bool:
    """Bring states and counts to `rules`, if they were worked out under others; whether that was so."""
    print_ = rules.fingerprint()
    with database.read() as conn:
        before = facts.get(conn, FACT)
    if before == print_:
        return False
    with database.write() as conn:
        worked_out = conn.execute(_ANY).first() is not None
        if worked_out:
            _rename(conn, rules)
            _states(conn, rules)
            _extra(conn, rules)
            _counts(conn, rules.target)
        facts.put(conn, FACT, print_)
    return worked_out


def settled_by(conn: Connection, rules: Rules) -> None:
    """Note that states are about to be worked out by `rules` beside a server, or before the first: if that is by others
    than before, the next start works all of them out anew."""
    print_ = rules.fingerprint()
    before = facts.get(conn, FACT)
    if before != print_:
        first = before is None and conn.execute(_ANY).first() is None
        facts.put(conn, FACT, print_ if first else MIXED)


def _rename(conn: Connection, rules: Rules) -> None:
    """Carry answers and decisions over to the labels' new names, as `label_renames` says. Answers get a line of history
    each, and are as old as they were: nobody has answered anew."""
    renaming = [scheme for scheme in rules.schemes.values() if scheme.label_renames]
    for scheme in renaming:
        found = select(answers_).where(answers_.c.scheme == scheme.name)
        entries = [_renamed(row, scheme) for row in conn.execute(found)]
        changed = [entry for entry in entries if entry is not None]
        for start in range(0, len(changed), _PIECE):
            record(conn, changed[start : start + _PIECE])
        adjudications.rename(conn, scheme)


def _renamed(row: Any, scheme: Scheme) -> Entry | None:
    new = scheme.renamed(row.value)
    if new == row.value:
        return None
    how = (row.origin, row.suggestion, row.elapsed_ms, row.shown)
    return Entry(row.item, row.user, scheme.name, new, row.at, RENAME, *how)


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


def _extra(conn: Connection, rules: Rules) -> None:
    """Which of an item's answers go beyond the target: those that were complete last."""
    conn.execute(_NOT_DONE_IS_NOT_EXTRA)
    last = 0
    while crowded := conn.execute(_CROWDED, {"after": last, "target": rules.target}).scalars().all():
        last = crowded[-1]
        since = _done_since(conn, rules, crowded)
        done: dict[int, list[tuple[bool, tuple[str, int], int]]] = defaultdict(list)
        for item, user, extra in conn.execute(_DONE_OF, {"items": crowded}):
            done[item].append((bool(extra), since.get((item, user), ("", 0)), user))
        changed = [
            {"of_item": item, "of_user": user, "new": place >= rules.target}
            for item, standing in done.items()
            for place, (extra, _, user) in enumerate(sorted(standing))
            if extra is not (place >= rules.target)
        ]
        for start in range(0, len(changed), _PIECE):
            conn.execute(_SET_EXTRA, changed[start : start + _PIECE])


def _done_since(conn: Connection, rules: Rules, items_: Sequence[int]) -> dict[tuple[int, int], tuple[str, int]]:
    """When, and by which line of the history, whoever is done with one of these items became so."""
    found = {}
    rows = conn.execute(_HISTORY_OF, {"items": list(items_)})
    for key, lines in groupby(rows, key=lambda row: (row[0], row[1])):
        answers: dict[str, Answer] = {}
        since = None
        for _, _, scheme, value, at, seq in lines:
            answers[scheme] = value
            if not rules.is_done({name: given for name, given in answers.items() if given is not None}):
                since = None
            elif since is None:
                since = (at, seq)
        if since is not None:
            found[key] = since
    return found


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
