"""What every request reaches: the project, its store, and the services that run beside the pages."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, TypeVar

from fastapi import Depends
from starlette.requests import HTTPConnection

from potato.project import Project
from potato.store import Connection, Database, Writer
from potato.store.clock import Clock, utc_now
from potato.store.election import Standing
from potato.store.rules import Rules
from potato.web.session import Sessions
from potato.web.shared import Shared
from potato.web.throttle import Throttle

if TYPE_CHECKING:
    from potato.tasks import TaskRunner
    from potato.training.runs.notifier import Notifier
    from potato.training.runs.supervisor import Supervisor

T = TypeVar("T")
U = TypeVar("U")

READERS = 4
"""Threads that read the store for requests; each holds a connection only while a function of it runs."""


@dataclass
class Site:
    """One served project. Handlers are async and touch the store only through `read` and `write`."""

    project: Project
    database: Database
    writer: Writer
    sessions: Sessions
    notifier: Notifier
    tasks: TaskRunner
    supervisor: Supervisor | None = None
    clock: Clock = utc_now
    standing: Standing | None = None
    """Where several server processes share the store: how this one stood when it looked last."""
    throttle: Throttle = field(default_factory=Throttle)
    shared: Shared = field(default_factory=Shared, repr=False)
    _readers: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(READERS, thread_name_prefix="store-reader"), repr=False
    )

    async def read(self, function: Callable[[Connection], T]) -> T:
        """What `function(connection)` gives on one snapshot of the store; the event loop does not wait for it."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self._read, function)

    def write(self, function: Callable[[Connection], T]) -> asyncio.Future[T]:
        """What `function(connection)` gives, once its effect is on disk. A caller that leaves does not undo it.

        Functions run in the order of the calls.
        """
        return asyncio.shield(asyncio.wrap_future(self.writer.submit(function)))

    def write_then_read(
        self, write: Callable[[Connection], T | None], read: Callable[[Connection, T], U]
    ) -> Awaitable[U | None]:
        """What `read(connection, value)` gives for the value that `write(connection)` gave; None for None. As `write`.

        With SQLite all of it is done by the writer, as another thread would cost more than the reading; with PostgreSQL
        a reader reads once the write is done, and the writer does not wait for the answers of another process.
        """
        if not self.database.is_sqlite:
            return self._read_after(self.write(write), read)
        return self.write(lambda connection: _given(write(connection), lambda value: read(connection, value)))

    @cached_property
    def rules(self) -> Rules:
        """How the project hands out items and stores answers."""
        return Rules.of(self.project)

    @cached_property
    def admin_key(self) -> str | None:
        """The project's admin key in clear text."""
        key = self.project.config.admin_api_key
        return key.get_secret_value() if key else None

    @property
    def supervises(self) -> bool:
        """Whether this process is the one that supervises the project's runs."""
        return self.standing is None or self.standing.supervises

    @property
    def leaves(self) -> bool:
        """Whether whoever streams is to end: the server goes down, or another one supervises the runs now."""
        return self.notifier.closed or not self.supervises

    def close(self) -> None:
        """End the reading threads. The writer and the database belong to whoever opened them."""
        self._readers.shutdown(wait=True)

    async def _read_after(self, written: Awaitable[T | None], read: Callable[[Connection, T], U]) -> U | None:
        value = await written
        return None if value is None else await self.read(lambda connection: read(connection, value))

    def _read(self, function: Callable[[Connection], T]) -> T:
        with self.database.read() as connection:
            return function(connection)


def _given(value: T | None, function: Callable[[T], U]) -> U | None:
    return None if value is None else function(value)


def site_of(connection: HTTPConnection) -> Site:
    """The site that a request is for."""
    site: Site = connection.app.state.site
    return site


async def _site(connection: HTTPConnection) -> Site:
    # A plain function would be sent through a thread for each request.
    return site_of(connection)


SiteDep = Annotated[Site, Depends(_site)]
"""The site, as a parameter of a route."""
