"""How annotators stand to items, and everything that is counted from it. The one write path of `assignments`.

An item is *taken* by whoever has answered it or holds it. One that is taken by fewer than the target is *wanted*. An
item that was not wanted and is again goes into the list `returned` too, where those find it who had passed it by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from potato.store import facts
from potato.store.databases.prepared import Prepared
from potato.store.databases.together import together
from potato.store.databases.upsert import upsert
from potato.store.rules import Rules
from potato.store.tables import annotation_history, assignments, returned, users, wanted

ITEMS_DONE = "items_done"


class State(str, Enum):
    """How an annotator stands to an item that they have met."""

    OPEN = "open"  # holds it, until the lease ends
    LAPSED = "lapsed"  # held it too long
    DONE = "done"
    SKIPPED = "skipped"


TAKES = (State.OPEN, State.DONE)


@dataclass(frozen=True)
class Standing:
    """A new state. `at` is the time of the change: the first meeting, where there was none yet."""

    state: State
    at: str
    leased_until: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Stood(Standing):
    """A standing as it is stored; `at` is the first meeting, `extra` as in `settle`."""

    extra: bool = False


Standings = dict[int, dict[int, Stood]]


_STANDING = select(
    assignments.c.item,
    assignments.c.user,
    assignments.c.state,
    assignments.c.reason,
    assignments.c.leased_until,
    assignments.c.extra,
    assignments.c.at,
)
_OF_ITEMS = _STANDING.where(assignments.c.item.in_(bindparam("items", expanding=True)))
_OF_ITEM = Prepared(_STANDING.where(assignments.c.item == bindparam("of_item")))
_DONE = Prepared(
    update(users)
    .where(users.c.id == bindparam("who"))
    .values(done=users.c.done + bindparam("more_done"), skipped=users.c.skipped + bindparam("more_skipped"))
)
_UNWANT = Prepared(delete(wanted).where(wanted.c.item == bindparam("full")))
_late = assignments.alias()
_FIRST_ANSWERED = (
    select(func.min(annotation_history.c.at))
    .where(annotation_history.c.item == _late.c.item, annotation_history.c.user == _late.c.user)
    .scalar_subquery()
)
_MOVE_UP = (
    update(assignments)
    .where(
        assignments.c.item == bindparam("of_item"),
        assignments.c.user.in_(
            select(_late.c.user)
            .where(_late.c.item == bindparam("of_item"), _late.c.user.in_(bindparam("late", expanding=True)))
            .order_by(func.coalesce(_FIRST_ANSWERED, _late.c.at), _late.c.user)
            .limit(bindparam("room"))
        ),
    )
    .values(extra=False)
)

Key = tuple[int, int]
"""An item's place and an annotator's id."""


def settle(
    conn: Connection, changes: Mapping[Key, Standing], rules: Rules, before: Standings | None = None
) -> set[Key]:
    """Give annotators their new standing to items, and keep every count right.

    Returns those of `changes` that are `extra`: answers to an item that enough others had answered already. An extra
    answer is none any more once one of the others is taken back. `before` are the `standings` of the items, where the
    caller has them.
    """
    before = standings(conn, [item for item, _ in changes]) if before is None else before
    after: dict[int, dict[int, State]] = {item: {u: s.state for u, s in row.items()} for item, row in before.items()}
    rows, extra = [], set()
    for (item, user), new in changes.items():
        old = before[item].get(user)
        row = _row(item, user, new, old, full=_done(after[item]) >= rules.target)
        if row["extra"]:
            extra.add((item, user))
        after[item][user] = new.state
        rows.append(row)
    with together(conn):
        upsert(conn, assignments, ("item", "user"), rows)
        _move_up(conn, before, changes, after, rules.target)
        _count_users(conn, changes, before)
        _count_items(conn, before, after, rules.target)
    return extra


def standings(conn: Connection, items: list[int]) -> Standings:
    """How annotators stand to `items`: item → annotator → standing."""
    found: Standings = {item: {} for item in items}
    rows = _OF_ITEM.all(conn, of_item=items[0]) if len(items) == 1 else conn.execute(_OF_ITEMS, {"items": list(found)})
    for item, user, state, reason, leased_until, extra, at in rows:
        found[item][user] = Stood(State(state), at, leased_until, reason, extra)
    return found


def _row(item: int, user: int, new: Standing, old: Stood | None, *, full: bool) -> dict[str, object]:
    was_done = old is not None and old.state is State.DONE
    extra = bool(old and old.extra) if was_done else full
    return {
        "item": item,
        "user": user,
        "state": new.state.value,
        "reason": new.reason,
        "leased_until": new.leased_until,
        "extra": extra and new.state is State.DONE,
        "at": old.at if old else new.at,
    }


def _move_up(
    conn: Connection,
    before: Standings,
    changes: Mapping[Key, Standing],
    after: Mapping[int, Mapping[int, State]],
    target: int,
) -> None:
    """Make no longer extra what was, where the item lacks others now; what was answered first comes first."""
    for item, stood in before.items():
        late = [user for user, was in stood.items() if was.extra and (item, user) not in changes]
        if late and (room := target + len(late) - _done(after[item])) > 0:
            conn.execute(_MOVE_UP, {"of_item": item, "late": late, "room": room})


def _count_users(conn: Connection, changes: Mapping[Key, Standing], before: Standings) -> None:
    more: dict[int, dict[State, int]] = defaultdict(lambda: defaultdict(int))
    for (item, user), new in changes.items():
        old = before[item].get(user)
        if old is not None:
            more[user][old.state] -= 1
        more[user][new.state] += 1
    rows = [
        {"who": user, "more_done": states[State.DONE], "more_skipped": states[State.SKIPPED]}
        for user, states in more.items()
        if states[State.DONE] or states[State.SKIPPED]
    ]
    if rows:
        _DONE.run(conn, rows)


def _count_items(
    conn: Connection,
    before: Standings,
    after: Mapping[int, Mapping[int, State]],
    target: int,
) -> None:
    done, full, open_, back = 0, [], [], []
    for item, new in after.items():
        old = {user: was.state for user, was in before[item].items()}
        done += (_done(new) >= target) - (_done(old) >= target)
        was_taken, taken = _taken(old), _taken(new)
        if taken >= target > was_taken:
            full.append({"full": item})
        elif taken < target and taken != was_taken:
            open_.append({"item": item, "taken": taken})
            if was_taken >= target:
                back.append({"item": item})
    facts.count(conn, ITEMS_DONE, done)
    if full:
        _UNWANT.run(conn, full)
    upsert(conn, wanted, ("item",), open_)
    if back:
        conn.execute(insert(returned).inline(), back)


def _done(states: Mapping[int, State | Stood]) -> int:
    return sum(state is State.DONE for state in states.values())


def _taken(states: Mapping[int, State]) -> int:
    return sum(state in TAKES for state in states.values())
