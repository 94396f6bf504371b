"""Models on their way to the Hugging Face Hub, and those that are there: a row each time that somebody sent one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sqlalchemy import Connection, insert, select, update

from potato.store.tables import publications


class Stage(str, Enum):
    """Where a publication is."""

    GOING = "going"
    PUBLISHED = "published"
    FAILED = "failed"


@dataclass(frozen=True)
class Publication:
    """One publication. Times are text as in `store.clock`; `revision` is the commit on the Hub."""

    id: int
    run_id: str
    scheme: str
    repo: str
    public: bool
    state: Stage
    step: str
    url: str | None
    revision: str | None
    error: dict[str, Any] | None
    started_by: str | None
    at: str
    finished_at: str | None

    def as_json(self) -> dict[str, Any]:
        """The publication in the API's shape."""
        return {**vars(self), "state": self.state.value}


def begin(
    connection: Connection, run_id: str, scheme: str, repo: str, public: bool, started_by: str | None, at: str
) -> int:
    """Note that a model is being sent; the note's number."""
    values = {"run_id": run_id, "scheme": scheme, "repo": repo, "public": public, "started_by": started_by, "at": at}
    made = connection.execute(insert(publications).values(state=Stage.GOING.value, step="checking", **values))
    key = made.inserted_primary_key
    assert key is not None
    return int(key[0])


def step(connection: Connection, number: int, text: str) -> None:
    """What it is at now, in a few words."""
    _set(connection, number, step=text)


def finish(connection: Connection, number: int, url: str, revision: str, public: bool, at: str) -> None:
    """The model is there."""
    _set(
        connection,
        number,
        state=Stage.PUBLISHED.value,
        step="",
        url=url,
        revision=revision,
        public=public,
        error=None,
        finished_at=at,
    )


def fail(connection: Connection, number: int, error: dict[str, Any], at: str) -> None:
    """It did not get there; `error` says why."""
    _set(connection, number, state=Stage.FAILED.value, step="", error=error, finished_at=at)


def get(connection: Connection, number: int) -> Publication:
    """The publication of that number, which is there."""
    return _load(connection, publications.c.id == number)[0]


def of_run(connection: Connection, run_id: str) -> Sequence[Publication]:
    """A run's publications, the newest first."""
    return _load(connection, publications.c.run_id == run_id)


def going(connection: Connection) -> Sequence[Publication]:
    """Those that have not ended."""
    return _load(connection, publications.c.state == Stage.GOING.value)


def published(connection: Connection, run_ids: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """Run → where its models are published, for those of these runs that are."""
    found: dict[str, list[dict[str, Any]]] = {}
    wanted = (publications.c.state == Stage.PUBLISHED.value) & publications.c.run_id.in_(list(run_ids))
    for entry in _load(connection, wanted):
        where = {"scheme": entry.scheme, "repo": entry.repo, "url": entry.url, "revision": entry.revision}
        found.setdefault(entry.run_id, []).append({**where, "public": entry.public, "at": entry.finished_at})
    return found


def _set(connection: Connection, number: int, **fields: Any) -> None:
    connection.execute(update(publications).where(publications.c.id == number).values(**fields))


def _load(connection: Connection, where: Any) -> Sequence[Publication]:
    rows = connection.execute(select(publications).where(where).order_by(publications.c.id.desc()))
    return [Publication(**{**row._mapping, "state": Stage(row.state)}) for row in rows]
