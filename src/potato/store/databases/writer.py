"""The one interactive write path: a thread that commits what has queued up as one transaction."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar

from sqlalchemy import Connection

from potato.store.databases.database import Database
from potato.store.databases.refused import StoreFull, is_full

T = TypeVar("T")

MAX_BATCH = 256

_Job = tuple[Callable[[Connection], Any], "Future[Any]"]


class Writer:
    """Runs write functions in order, many to a commit, and answers each after the commit that made it durable.

    Each function runs in a savepoint of its own: one that raises is undone alone and its caller gets the exception.
    `start` it before use and `close` it at the end; `close` finishes what was submitted.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)

    def start(self) -> None:
        """Begin to take what is submitted."""
        self._thread.start()

    def submit(self, function: Callable[[Connection], T]) -> Future[T]:
        """Run `function(connection)` soon; the future is answered once its effect is on disk."""
        future: Future[T] = Future()
        self._jobs.put((function, future))
        return future

    def call(self, function: Callable[[Connection], T]) -> T:
        """`submit` and wait. Not for the event loop's thread."""
        return self.submit(function).result()

    def close(self) -> None:
        """Finish what was submitted, then end."""
        self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        open_ = True
        while open_:
            batch, open_ = self._next_batch()
            if batch:
                self._commit(batch)

    def _next_batch(self) -> tuple[list[_Job], bool]:
        job = self._jobs.get()
        batch: list[_Job] = []
        while job is not None:
            batch.append(job)
            if len(batch) == MAX_BATCH:
                return batch, True
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: list[_Job]) -> None:
        batch = [job for job in batch if job[1].set_running_or_notify_cancel()]  # nobody waits for a cancelled one
        answers: list[tuple[Future[Any], Any, BaseException | None]] = []
        try:
            with self._database.write() as connection:
                for function, future in batch:
                    try:
                        with _savepoint(connection):
                            value = function(connection)
                        answers.append((future, value, None))
                    except Exception as error:
                        if self._database.is_sqlite and _undone_whole(connection):
                            raise
                        answers.append((future, None, StoreFull() if is_full(error) else error))
        except Exception as error:  # the commit itself failed: nothing of the batch is on disk
            answers = [(future, None, error) for _, future in batch]
        for future, value, failure in answers:
            if failure is None:
                future.set_result(value)
            else:
                future.set_exception(failure)


@contextlib.contextmanager
def _savepoint(connection: Connection) -> Iterator[None]:
    """What the block writes is undone when it raises. SQLAlchemy words each savepoint anew, which costs more than all
    that a save does in it."""
    if connection.dialect.name != "sqlite":
        with connection.begin_nested():
            yield
        return
    driver: Any = connection.connection.dbapi_connection
    driver.execute("SAVEPOINT job")
    try:
        yield
    except BaseException:
        if driver.in_transaction:  # else SQLite has undone the whole transaction by itself
            driver.execute("ROLLBACK TO job")
            driver.execute("RELEASE job")
        raise
    driver.execute("RELEASE job")


def _undone_whole(connection: Connection) -> bool:
    """Whether SQLite has undone the whole transaction by itself, as it may when the disk is full: not the function that
    met it alone, but those before it too, and what follows would be in no transaction."""
    return not getattr(connection.connection.dbapi_connection, "in_transaction", True)
