"""A session of PostgreSQL's that costs few round trips: what needs no answer travels with what does."""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator
from typing import Any

import psycopg
from psycopg.types.string import StrDumperUnknown

from potato.store.databases.postgresql import INSTEAD, NUL

_UNANSWERED = ("SAVEPOINT ", "RELEASE SAVEPOINT ")
"""How statements begin that do not fail, so that nobody has to wait for their answer."""


class Session(psycopg.Connection[Any]):
    """A connection whose transactions are begun by `begin`, not by the driver; made with `autocommit`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.cursor_factory = Cursor
        self.server_cursor_factory = Streaming
        self._waiting: list[str] = []
        self._streams: list[Streaming] = []

    def set_up(self, *statements: str) -> None:
        """Make a new session ready, which `statements` are for."""
        self.adapters.register_dumper(str, WithoutNul)
        self.begin(*statements)
        self.send_waiting()

    def begin(self, *statements: str) -> None:
        """Have `statements` begin a transaction, in one message with what is executed first in it."""
        self._waiting = list(statements)

    def later(self, statement: str) -> None:
        """Execute a statement with the next one, or not at all where the transaction ends before."""
        self._waiting.append(statement)

    def commit(self) -> None:
        """As ever; what waits has no effect any more."""
        self._waiting = []
        super().commit()
        self._close_streams()

    def rollback(self) -> None:
        """As ever; what waits has no effect any more."""
        self._waiting = []
        super().rollback()
        self._close_streams()

    def close(self) -> None:
        """As ever."""
        super().close()
        self._close_streams()

    def opened(self, stream: Streaming) -> None:
        """Close `stream` with its transaction, at the latest: whoever reads it may be broken off."""
        self._streams.append(stream)

    def _close_streams(self) -> None:
        streams, self._streams = self._streams, []
        for stream in streams:
            stream.close()

    @contextlib.contextmanager
    def after_waiting(self) -> Iterator[None]:
        """Send what waits in one message with what is executed in the block."""
        statements, self._waiting = self._waiting, []
        if not statements:
            yield
            return
        with contextlib.nullcontext() if self.in_pipeline else self.pipeline():
            for statement in statements:
                psycopg.Cursor.execute(self.cursor(), statement)
            yield

    @property
    def in_pipeline(self) -> bool:
        """Whether what is executed is not answered at once."""
        return bool(self.pgconn.pipeline_status)

    def send_waiting(self) -> None:
        """Send what waits by itself."""
        with self.after_waiting():
            pass

    @property
    def ended(self) -> bool:
        """Whether the server has closed the session while it was not in use; looked at without a round trip."""
        if self.closed:
            return True
        readable = select.poll()
        readable.register(self.fileno(), select.POLLIN)
        if not readable.poll(0):
            return False
        try:  # the session's end, or only a word in passing
            self.execute("")
        except psycopg.OperationalError:
            return True
        return False


class Cursor(psycopg.Cursor[Any]):
    """Executes in the transaction that its `Session` is to begin."""

    connection: Session

    def execute(self, query: Any, params: Any = None, **options: Any) -> Cursor:
        """As ever, and what waits before it."""
        if isinstance(query, str) and query.startswith(_UNANSWERED):
            self.connection.later(query)
            return self
        with self.connection.after_waiting():
            super().execute(query, params, **options)
        return self

    def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        """As ever, and what waits before it."""
        with self.connection.after_waiting():
            super().executemany(query, params_seq, **options)

    def copy(self, *args: Any, **options: Any) -> Any:
        """As ever, after what waits."""
        self.connection.send_waiting()
        return super().copy(*args, **options)


class Streaming(psycopg.ServerCursor[Any]):
    """As `Cursor`, for rows that are fetched piece by piece."""

    connection: Session

    def execute(self, query: Any, params: Any = None, **options: Any) -> Streaming:
        """As ever, after what waits."""
        self.connection.send_waiting()
        self.connection.opened(self)
        super().execute(query, params, **options)
        return self


class WithoutNul(StrDumperUnknown):
    """Writes the replacement character for each NUL: texts keep their length, so places in them stay right."""

    def dump(self, obj: str) -> bytes:
        """The text's bytes."""
        return (obj.replace(NUL, INSTEAD) if NUL in obj else obj).encode("utf-8")
