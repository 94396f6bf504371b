"""Runs in the store: one row each, and one path on which its state changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from enum import Enum
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, insert, select, update

from potato.errors import PotatoError
from potato.store.clock import from_text, to_text
from potato.store.tables import annotation_history, live_runs, runs
from potato.store.training import publications


class State(str, Enum):
    """Where a run is in its life."""

    QUEUED = "queued"
    BUILDING = "building"
    RUNNING = "running"
    EVALUATING = "evaluating"
    SUCCESS = "success"
    ERROR = "error"
    CANCELLED = "cancelled"


FINISHED = frozenset({State.SUCCESS, State.ERROR, State.CANCELLED})
GOING = frozenset({State.BUILDING, State.RUNNING, State.EVALUATING})

TRANSITIONS: dict[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.BUILDING, State.ERROR, State.CANCELLED}),
    State.BUILDING: frozenset({State.RUNNING, State.ERROR, State.CANCELLED}),
    State.RUNNING: frozenset({State.EVALUATING, State.ERROR, State.CANCELLED}),
    State.EVALUATING: frozenset({State.SUCCESS, State.ERROR, State.CANCELLED}),
    State.SUCCESS: frozenset(),
    State.ERROR: frozenset(),
    State.CANCELLED: frozenset(),
}
"""State → the states that may follow it."""


_NEWEST_CHANGE = select(func.max(annotation_history.c.seq))
_LIVE = select(live_runs.c.scheme, live_runs.c.run_id, live_runs.c.shown)


class UnknownRun(PotatoError):
    """No run has that id."""

    code = "unknown_run"
    status = 404

    def __init__(self, run_id: str) -> None:
        super().__init__(f"There is no run {run_id!r:.100}")
        self.run_id = run_id


class NotAllowed(PotatoError):
    """A run cannot go from the state it is in to the one that was asked for."""

    code = "run_state"
    status = 409

    def __init__(self, run_id: str, state: State, to: State) -> None:
        super().__init__(f"Run {run_id} is '{state.value}' and cannot become '{to.value}'")
        self.state = state


@dataclass(frozen=True)
class Run:
    """All that is recorded of a run. Times are text as in `store.clock`; what is not known yet is None or empty.

    `applied` is how many bytes of its journal the row reflects; `live` names the schemes whose pre-labels it
    supplies at present. `train_share` below 1 belongs to a point of the learning curve of the run `curve_of`.
    """

    run_id: str
    state: State
    trainer: str
    schemas: Sequence[str]
    params: dict[str, Any]
    trigger: str
    backend: str
    backend_type: str
    created_at: str
    step: str = ""
    started_by: str | None = None
    host: str | None = None
    device: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    attempt: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    progress: dict[str, Any] | None = None
    digest: str | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, Any] = field(default_factory=dict)
    writeback: dict[str, Any] | None = None
    model_version: str | None = None
    label_order: dict[str, Any] | None = None
    artifact_uri: str | None = None
    error: dict[str, Any] | None = None
    warnings: Sequence[str] = ()
    cancel_requested_at: str | None = None
    applied: int = 0
    files_removed: bool = False
    labels_upto: int | None = None
    train_share: float = 1.0
    curve_of: str | None = None
    live: Sequence[str] = ()
    shown: int = 0
    published: Sequence[dict[str, Any]] = ()

    @property
    def is_finished(self) -> bool:
        """Whether it has come to its end, whichever."""
        return self.state in FINISHED


def add(connection: Connection, run: Run) -> Run:
    """Record a new run, as the newest: where the clock does not say so, it is dated a millisecond after the last."""
    newest = connection.execute(select(func.max(runs.c.created_at))).scalar_one()
    if newest is not None and newest >= run.created_at:
        run = replace(run, created_at=to_text(from_text(newest) + timedelta(milliseconds=1)))
    if run.labels_upto is None:  # until its bundle is built
        run = replace(run, labels_upto=connection.execute(_NEWEST_CHANGE).scalar() or 0)
    row = asdict(run)
    del row["live"], row["shown"], row["published"]
    connection.execute(insert(runs).values(**_plain(row)))
    return run


def get(connection: Connection, run_id: str) -> Run | None:
    """The run of that id."""
    found = _load(connection, select(runs).where(runs.c.run_id == run_id))
    return found[0] if found else None


def get_or_raise(connection: Connection, run_id: str) -> Run:
    """The run of that id. Raises `UnknownRun`."""
    run = get(connection, run_id)
    if run is None:
        raise UnknownRun(run_id)
    return run


def page(connection: Connection, limit: int, before: str | None = None) -> Sequence[Run]:
    """Up to `limit` runs, newest first; those older than the run `before` where it is given. Raises `UnknownRun`."""
    query = select(runs).order_by(runs.c.created_at.desc(), runs.c.run_id.desc()).limit(limit)
    if before is not None:
        last = get_or_raise(connection, before)
        older = runs.c.created_at < last.created_at
        query = query.where(older | ((runs.c.created_at == last.created_at) & (runs.c.run_id < before)))
    return _load(connection, query)


def in_states(connection: Connection, states: Iterable[State]) -> Sequence[Run]:
    """The runs in any of those states, oldest first: the order of the queue."""
    chosen = [state.value for state in states]
    return _load(connection, select(runs).where(runs.c.state.in_(chosen)).order_by(runs.c.created_at, runs.c.run_id))


class Brief(NamedTuple):
    """A run in a list of choices."""

    run_id: str
    trainer: str
    schemas: Sequence[str]
    finished_at: str
    train_share: float
    curve_of: str | None


def succeeded(connection: Connection, limit: int) -> list[Brief]:
    """The newest runs that ended well; without their figures, which take longer to read than all the rest."""
    columns = (runs.c.run_id, runs.c.trainer, runs.c.schemas, runs.c.finished_at, runs.c.train_share, runs.c.curve_of)
    query = select(*columns).where(runs.c.state == State.SUCCESS.value).order_by(runs.c.created_at.desc()).limit(limit)
    return [Brief(*row) for row in connection.execute(query)]


def curve(connection: Connection, run_id: str) -> Sequence[Run]:
    """The points of that run's learning curve, by share of the training split, the newest of a share last."""
    query = select(runs).where(runs.c.curve_of == run_id).order_by(runs.c.train_share, runs.c.created_at)
    return _load(connection, query)


def latest(connection: Connection, states: Iterable[State]) -> Run | None:
    """The newest run in any of those states."""
    chosen = [state.value for state in states]
    query = select(runs).where(runs.c.state.in_(chosen)).order_by(runs.c.created_at.desc(), runs.c.run_id.desc())
    found = _load(connection, query.limit(1))
    return found[0] if found else None


def last_ended(connection: Connection) -> str | None:
    """The run that ended last, however it did; None where none has."""
    ended = select(runs.c.run_id).where(runs.c.finished_at.is_not(None))
    return connection.execute(ended.order_by(runs.c.finished_at.desc(), runs.c.run_id.desc()).limit(1)).scalar()


def queue(connection: Connection) -> Sequence[Run]:
    """The queued runs, the next one first."""
    return in_states(connection, [State.QUEUED])


def amend(connection: Connection, run_id: str, **fields: Any) -> None:
    """Write fields other than the state."""
    assert "state" not in fields
    connection.execute(update(runs).where(runs.c.run_id == run_id).values(**_plain(fields)))


def transition(connection: Connection, run_id: str, to: State, **fields: Any) -> Run:
    """Bring the run into the state `to`, with `fields`; the run as it is then.

    A run that is in that state already is left as it is. Raises `NotAllowed` and `UnknownRun`.
    """
    run = get_or_raise(connection, run_id)
    if run.state is to:
        return run
    if to not in TRANSITIONS[run.state]:
        raise NotAllowed(run_id, run.state, to)
    values = _plain({**fields, "state": to})
    connection.execute(update(runs).where(runs.c.run_id == run_id).values(**values))
    return get_or_raise(connection, run_id)


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    plain = dict(fields)
    for name in ("schemas", "warnings"):
        if name in plain:
            plain[name] = list(plain[name])
    if "state" in plain:
        plain["state"] = State(plain["state"]).value
    return plain


def _load(connection: Connection, query: Select[Any]) -> Sequence[Run]:
    rows = connection.execute(query).all()
    live: dict[str, list[str]] = {}
    shown: dict[str, int] = {}
    if rows:
        for scheme, run_id, count in connection.execute(_LIVE):
            live.setdefault(run_id, []).append(scheme)
            shown[run_id] = shown.get(run_id, 0) + count
    published = publications.published(connection, [row.run_id for row in rows])
    return [
        _run(
            row, live=live.get(row.run_id, []), shown=shown.get(row.run_id, 0), published=published.get(row.run_id, ())
        )
        for row in rows
    ]


def _run(row: Row[Any], **beside: Any) -> Run:
    values = dict(row._mapping)
    values["state"] = State(values["state"])
    return Run(**values, **beside)
