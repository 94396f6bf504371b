"""Who gets which item next.

Handing out reads lists from a cursor that each annotator has in them, so that a request costs the same however many
items there are: everything before a cursor is theirs, or was not to be had when they passed; what became free again
afterwards is in the list `returned`. Call what writes under the writer alone: that makes handing out atomic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Literal

from sqlalchemy import Connection, and_, bindparam, exists, func, literal, select, tuple_, update

from potato.store.clock import to_text
from potato.store.databases.prepared import Prepared
from potato.store.databases.upsert import upsert
from potato.store.facts import counted, tally
from potato.store.items import VISIBLE, visible
from potato.store.rules import Rules
from potato.store.settling import ITEMS_DONE, Standing, State, settle
from potato.store.tables import assignments, cursors, returned, users, wanted
from potato.store.tables import rankings as ranking
from potato.store.training import rankings

SWEPT_AT_ONCE = 50
PROBES, WINDOW = 4, 200

Reason = Literal["no_items", "yours_done", "with_others", "all_done"]


@dataclass(frozen=True)
class NothingLeft:
    """Why an annotator gets no item: a code for programs and a sentence for the page."""

    reason: Reason
    sentence: str


@dataclass(frozen=True)
class Progress:
    """How far one annotator and the whole project are. An item is done when enough annotators are done with it."""

    done: int
    skipped: int
    total_done: int
    total: int


@dataclass(frozen=True)
class Met:
    """How an annotator stands to an item, why they skipped it, and why they flagged it; None: they did not."""

    state: State
    reason: str | None
    flag: str | None


_PARTS = (assignments.c.item, assignments.c.user)
_LAPSING = Prepared(
    select(*_PARTS)
    .where(assignments.c.state == State.OPEN.value, assignments.c.leased_until <= bindparam("now"))
    .limit(SWEPT_AT_ONCE)
)
_HELD = Prepared(  # those that are held first: "open" sorts after "lapsed"
    select(assignments.c.item, assignments.c.state)
    .where(
        assignments.c.user == bindparam("who"),
        assignments.c.state.in_([literal(State.OPEN.value), literal(State.LAPSED.value)]),
    )
    .order_by(assignments.c.state.desc(), assignments.c.at)
    .limit(SWEPT_AT_ONCE)
)
_STILL_WANTED = select(wanted.c.item).where(wanted.c.item.in_(bindparam("items", expanding=True)))
_CURSOR = select(cursors.c.place).where(cursors.c.user == bindparam("who"), cursors.c.list == bindparam("list"))
_AFTER = func.coalesce(_CURSOR.scalar_subquery(), 0)


def _unmet(column: Any) -> Any:
    """That the annotator has never met the item: no item is given to anyone twice."""
    return ~exists().where(assignments.c.item == column, assignments.c.user == bindparam("who"))


_FIRST = select(wanted.c.item).where(wanted.c.item > _AFTER, wanted.c.item <= visible())
_IN_ORDER = Prepared(_FIRST.where(_unmet(wanted.c.item)).order_by(wanted.c.item).limit(1))
_ON_LEVEL = Prepared(
    _FIRST.where(wanted.c.taken == bindparam("level"), _unmet(wanted.c.item)).order_by(wanted.c.item).limit(1)
)
_RETURNED = Prepared(
    select(returned.c.seq, returned.c.item, and_(wanted.c.item.is_not(None), _unmet(returned.c.item)))
    .outerjoin(wanted, wanted.c.item == returned.c.item)
    .where(returned.c.seq > _AFTER)
    .order_by(returned.c.seq)
    .limit(WINDOW)
)
_LEAST_SURE = (
    select(ranking.c.place, ranking.c.item)
    .join(wanted, wanted.c.item == ranking.c.item)
    .where(
        ranking.c.run_id == bindparam("run"),
        ranking.c.place > bindparam("after"),
        _unmet(ranking.c.item),
    )
    .order_by(ranking.c.place)
    .limit(1)
)
_WINDOW = (
    select(wanted.c.item)
    .where(wanted.c.item > bindparam("after"), wanted.c.item <= visible())
    .order_by(wanted.c.item)
    .limit(WINDOW)
    .subquery()
)
_PROBE = select(_WINDOW.c.item).where(_unmet(_WINDOW.c.item))
_ANY_WANTED = select(exists().where(wanted.c.item <= visible()))
_HELD_BY_OTHERS = select(func.count()).where(assignments.c.state == State.OPEN.value)
_PROGRESS = Prepared(
    select(users.c.done, users.c.skipped, counted(ITEMS_DONE), counted(VISIBLE)).where(users.c.id == bindparam("who"))
)
_FLAG = (
    update(assignments)
    .where(assignments.c.item == bindparam("of_item"), assignments.c.user == bindparam("who"))
    .values(flag=bindparam("why"))
)
_MET = Prepared(
    select(assignments.c.state, assignments.c.reason, assignments.c.flag).where(
        assignments.c.item == bindparam("of_item"), assignments.c.user == bindparam("who")
    )
)
_PLACE = Prepared(
    select(assignments.c.at).where(assignments.c.item == bindparam("item"), assignments.c.user == bindparam("who"))
)


def _neighbours(*, back: bool) -> Prepared:
    met = tuple_(assignments.c.at, assignments.c.item)
    here = tuple_(bindparam("at"), bindparam("item"))
    order = (assignments.c.at, assignments.c.item)
    return Prepared(
        select(assignments.c.item)
        .where(assignments.c.user == bindparam("who"), met < here if back else met > here)
        .order_by(*(column.desc() if back else column for column in order))
        .limit(1)
    )


_NEIGHBOUR = {"back": _neighbours(back=True), "forth": _neighbours(back=False)}


def next_item(conn: Connection, user: int, now: datetime, rules: Rules) -> int | NothingLeft:
    """Hand out an item to `user`: its `seq`, or why there is none.

    One that they hold comes first, then one that they let lapse and that still wants annotators, then a new one by
    the project's strategy. The item is theirs until the lease ends.
    """
    _sweep(conn, to_text(now), rules)
    item = _own(conn, user) or _new(conn, user, rules)
    if item is None:
        return _reason(conn)
    lease = Standing(State.OPEN, to_text(now), leased_until=to_text(now + rules.lease))
    settle(conn, {(item, user): lease}, rules)
    return item


def following(conn: Connection, user: int, item: int, now: datetime, rules: Rules) -> int | NothingLeft:
    """The item that `user` has after `item`: the one that they met after it, or else one that is handed out now."""
    met_after = neighbour(conn, user, item, "forth")
    return next_item(conn, user, now, rules) if met_after is None else met_after


def skip(conn: Connection, user: int, item: int, reason: str | None, now: datetime, rules: Rules) -> None:
    """Note that `user` skips `item`: others may have it, they do not get it again; their answers stay, unused."""
    settle(conn, {(item, user): Standing(State.SKIPPED, to_text(now), reason=reason)}, rules)


def flag(conn: Connection, user: int, item: int, reason: str | None) -> None:
    """Note that `user` wants somebody to look at `item`, for a reason that may be empty; None takes that back.

    It changes nothing else: the item stays theirs, and is answered or skipped as any other.
    """
    conn.execute(_FLAG, {"of_item": item, "who": user, "why": reason})


def met(conn: Connection, user: int, item: int) -> Met | None:
    """How `user` stands to `item`; None where they never met."""
    row = _MET.first(conn, of_item=item, who=user)
    return None if row is None else Met(State(row[0]), *row[1:])


def neighbour(conn: Connection, user: int, item: int | None, way: Literal["back", "forth"]) -> int | None:
    """The item that `user` met before (or after) `item`, in the order in which they met; from no item: the last met."""
    here: dict[str, Any] = {"at": "￿", "item": 0}
    if item is not None:
        at = _PLACE.scalar(conn, item=item, who=user)
        here = {"at": at or "￿", "item": item}
    found: int | None = _NEIGHBOUR[way].scalar(conn, who=user, **here)
    return found


def was_given(conn: Connection, user: int, item: int) -> bool:
    """Whether `user` ever met `item`."""
    return _PLACE.first(conn, item=item, who=user) is not None


def progress(conn: Connection, user: int) -> Progress:
    """How far `user` and the project are, from what is counted as it happens."""
    return Progress(*_PROGRESS.all(conn, who=user)[0])


def _sweep(conn: Connection, now: str, rules: Rules) -> None:
    lapsing = _LAPSING.all(conn, now=now)
    if lapsing:
        settle(conn, {(item, user): Standing(State.LAPSED, now) for item, user in lapsing}, rules)


def _own(conn: Connection, user: int) -> int | None:
    met = _HELD.all(conn, who=user)
    if not met:
        return None
    item, state = met[0]
    if state == State.OPEN.value:
        return int(item)
    free = set(conn.execute(_STILL_WANTED, {"items": [item for item, _ in met]}).scalars())
    return next((item for item, _ in met if item in free), None)


def _new(conn: Connection, user: int, rules: Rules) -> int | None:
    lists = _Lists(conn, user)
    found = lists.returned()
    if found is None and rules.strategy == "uncertainty" and rules.random.random() >= rules.random_share:
        found = lists.least_sure()
    if found is None and rules.strategy in ("random", "uncertainty"):
        found = lists.at_random(rules.random)
    elif found is None and rules.strategy == "least-annotated":
        found = lists.least_annotated(rules.target)
    return found if found is not None else lists.in_order()


class _Lists:
    """The lists as one annotator sees them: each gives their next item, moving their cursor, or None at its end.

    `in_order` is the one that misses nothing; the others are tried before it for the sake of their order.
    """

    def __init__(self, conn: Connection, user: int) -> None:
        self._conn, self._user = conn, user

    def returned(self) -> int | None:
        while rows := self._rows(_RETURNED, "returned"):
            for seq, item, free in rows:
                if free:
                    self._move("returned", seq)
                    return int(item)
            self._move("returned", rows[-1][0])
        return None

    def in_order(self) -> int | None:
        return self._first(_IN_ORDER, "items")

    def least_annotated(self, target: int) -> int | None:
        found = (self._first(_ON_LEVEL, f"level:{level}", level=level) for level in range(target))
        return next((item for item in found if item is not None), None)

    def least_sure(self) -> int | None:
        """What the newest live model is least sure of; None where there is no such model, or nothing left of it."""
        run_id = rankings.newest(self._conn)
        if run_id is None:
            return None
        name = rankings.list_name(run_id)
        own = self._conn.execute(_CURSOR, {"who": self._user, "list": name}).scalar() or 0
        after = max(own, rankings.shared_place(self._conn, run_id))
        rows = self._conn.execute(_LEAST_SURE, {"who": self._user, "run": run_id, "after": after}).all()
        if rows:
            self._move(name, rows[0].place)
            return int(rows[0].item)
        self._move(name, rankings.last_place(self._conn, run_id))  # so that the next request need not look again
        return None

    def at_random(self, random: Random) -> int | None:
        last = tally(self._conn, VISIBLE)
        for _ in range(PROBES):
            after = random.randint(0, max(0, last - WINDOW))
            items: Sequence[int] = self._conn.execute(_PROBE, {"who": self._user, "after": after}).scalars().all()
            if items:
                return random.choice(items)
        return None

    def _first(self, statement: Prepared, name: str, **values: int) -> int | None:
        rows = self._rows(statement, name, **values)
        if rows:
            self._move(name, rows[0][0])
            return int(rows[0][0])
        last = tally(self._conn, VISIBLE)
        if last > (self._conn.execute(_CURSOR, {"who": self._user, "list": name}).scalar() or 0):
            self._move(name, last)  # so that the next request does not look through all of it again
        return None

    def _rows(self, statement: Prepared, name: str, **values: int) -> Sequence[Any]:
        return statement.all(self._conn, who=self._user, list=name, **values)

    def _move(self, name: str, place: int) -> None:
        upsert(self._conn, cursors, ("user", "list"), {"user": self._user, "list": name, "place": place})


def _reason(conn: Connection) -> NothingLeft:
    if not tally(conn, VISIBLE):
        return NothingLeft("no_items", "The project has no items yet.")
    if conn.execute(_ANY_WANTED).scalar():
        return NothingLeft(
            "yours_done", "You have been through every item. What is left needs other annotators, not you."
        )
    held = conn.execute(_HELD_BY_OTHERS).scalar() or 0
    if held:
        items = "One item is" if held == 1 else f"{held} items are"
        return NothingLeft(
            "with_others",
            f"{items} with other annotators at the moment; whatever they do not answer in time comes back.",
        )
    return NothingLeft("all_done", "Everything is annotated. Thank you.")
