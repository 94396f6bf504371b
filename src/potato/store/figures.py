"""What the store can tell of a project's state at no cost, however many items it has: nothing here counts rows that
grow with the items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from potato.store import facts
from potato.store.items import VISIBLE
from potato.store.settling import ITEMS_DONE
from potato.store.tables import annotation_history, live_runs, runs, users
from potato.store.training import agents, deliveries
from potato.store.training.runs import FINISHED, Run, State, latest


@dataclass(frozen=True)
class Figures:
    """`answered` and `skipped` are sums over the annotators; `writes` is how many answers were ever written, changes
    and imports too; `deliveries` maps an outcome to how many attempts at webhooks had it, `waiting` a webhook's key to
    how many events wait for it."""

    items: int
    items_done: int
    annotators: int
    answered: int
    skipped: int
    writes: int
    live_prelabels: int
    runs: Mapping[State, int]
    last_run: Run | None
    agents: Mapping[str, str]
    deliveries: Mapping[str, int]
    waiting: Mapping[str, int]


def figures(connection: Connection, hooks: Sequence[str]) -> Figures:
    """The figures as they are now; `hooks` are the keys of the project's webhooks."""
    people = connection.execute(select(func.count(), func.sum(users.c.done), func.sum(users.c.skipped))).one()
    states = connection.execute(select(runs.c.state, func.count()).group_by(runs.c.state))
    return Figures(
        items=facts.tally(connection, VISIBLE),
        items_done=facts.tally(connection, ITEMS_DONE),
        annotators=people[0],
        answered=people[1] or 0,
        skipped=people[2] or 0,
        writes=connection.execute(select(func.max(annotation_history.c.seq))).scalar() or 0,
        live_prelabels=connection.execute(select(func.sum(live_runs.c.shown))).scalar() or 0,
        runs={State(row[0]): row[1] for row in states},
        last_run=latest(connection, FINISHED),
        agents=agents.last_seen(connection),
        deliveries=deliveries.attempts(connection),
        waiting={hook: deliveries.counts(connection, hook).get("waiting", 0) for hook in hooks},
    )
