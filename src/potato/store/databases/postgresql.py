"""The store in a PostgreSQL database: its connections, their transactions, and the locks that several processes share.

A project has a schema of its own: the first of its connection's search path. Write transactions take a lock of that
schema, so that one goes on at a time over all processes, as with SQLite; readers see one snapshot and wait for nobody.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    InterfaceError,
    InvalidatePoolError,
    OperationalError,
    PendingRollbackError,
)
from sqlalchemy.pool import NullPool

from potato.store.databases.json_text import to_json
from potato.store.databases.unreachable import (
    OLDEST,
    WAIT_S,
    DriverMissing,
    StoreBusy,
    StoreNotOpened,
    StoreUnreachable,
    StoreUnsuitable,
)
from potato.store.tables import metadata

NUL, INSTEAD = "\x00", "\ufffd"
"""The one character that PostgreSQL keeps in no text, and what is kept in its place."""

NAMES = ("postgresql", "postgres", "postgresql+psycopg")
"""How an address of a PostgreSQL database may begin."""

CONNECT = {
    "application_name": "potato",
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""A database that has gone without a word is noticed within a minute or so."""

ENCODING = {"client_encoding": "UTF8"}
"""What texts travel in, whatever the database, its address or the surroundings ask for: it has every character."""

_KEY = "hashtextextended('potato {} ' || current_schema(), 0)"
_READS = ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",)
_WRITES = (
    "BEGIN ISOLATION LEVEL READ COMMITTED",
    f"SELECT pg_advisory_xact_lock({_KEY.format('write')})",
)
_SESSION = (
    f"SET lock_timeout = '{WAIT_S}s'",
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
)
"""What holds in every session, whatever the server or the role is set to: what is committed is on disk."""
_LOCK_NOT_AVAILABLE = "55P03"
_PROBLEMS = (OperationalError, InterfaceError, PendingRollbackError)
"""The last is raised for a transaction that goes on although its connection has broken off."""


def is_postgresql(url: str) -> bool:
    """Whether `url` is an address of a PostgreSQL database."""
    return url.split(":", 1)[0] in NAMES


def engine(url: str, **more: Any) -> Engine:
    """Connections to the database of `url`; none is opened yet. Raises `DriverMissing` or `StoreUnsuitable`."""
    if importlib.util.find_spec("psycopg") is None:
        raise DriverMissing
    address = _address(url)
    settings: dict[str, Any] = {"json_serializer": to_json, "use_native_hstore": False, **more}
    made = create_engine(address, connect_args=_arguments(address), **settings)
    event.listen(made, "do_connect", _connect)
    event.listen(made, "connect", _connected)
    event.listen(made, "checkout", _checked_out)
    event.listen(made, "begin", _begun)
    return made


def dedicated(url: str) -> Engine:
    """As `engine`, but each connection is closed when it is let go: for what lasts as long as a session."""
    return engine(url, poolclass=NullPool)


def reading(connections: Engine) -> Connection:
    """A connection whose transactions read one snapshot."""
    return connections.connect().execution_options(potato_begins=_READS)


def writing(connections: Engine) -> Connection:
    """A connection whose transactions wait for those of all other writers, and then see what these wrote."""
    return connections.connect().execution_options(potato_write=True)


def lock_key(connection: Connection, name: str) -> int:
    """The number of the lock `name` of this project."""
    return int(connection.exec_driver_sql(f"SELECT {_KEY.format(name)}").scalar_one())


@contextlib.contextmanager
def exclusive(url: str, name: str) -> Iterator[None]:
    """One process at a time, on whatever machine, does what `name` stands for in this project; others wait here."""
    connections = dedicated(url)
    try:
        with unreachable_told(), connections.connect().execution_options(potato_begins=()) as connection:
            connection.exec_driver_sql("SET lock_timeout = 0")
            connection.exec_driver_sql(f"SELECT pg_advisory_lock({_KEY.format(name)})")
            yield
    finally:
        connections.dispose()


@contextlib.contextmanager
def driver(connection: Connection) -> Iterator[Any]:
    """The driver's own session, past SQLAlchemy; raises the driver's errors, `StoreBusy` and `StoreUnreachable`."""
    import psycopg

    try:
        yield connection.connection.driver_connection
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        if error.sqlstate == _LOCK_NOT_AVAILABLE:
            raise StoreBusy from error
        connection.invalidate(error)  # SQLAlchemy would not know that it is of no use any more
        raise StoreUnreachable from error


@contextlib.contextmanager
def pipelined(connection: Connection) -> Iterator[None]:
    """Execute what the block executes as one message to the server, whose answers are waited for at its end.

    Raises what executing one by one raises, whether the driver hears of it at a statement or at the end.
    """
    import psycopg

    try:
        with driver(connection) as session:
            if session.in_pipeline:
                yield
                return
            with session.pipeline(), session.after_waiting():
                yield
    except psycopg.Error as error:
        raise DBAPIError.instance("(statements sent together)", None, error, psycopg.Error) from error


def copy_in(connection: Connection, name: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Insert `rows` into the table `name`, streamed, the quickest way there is. Raises as `driver`."""
    names = ", ".join(f'"{column}"' for column in columns)
    with (
        driver(connection) as session,
        session.cursor() as cursor,
        cursor.copy(f'COPY "{name}" ({names}) FROM STDIN') as copy,
    ):
        for row in rows:
            copy.write_row(row)


@contextlib.contextmanager
def unreachable_told() -> Iterator[None]:
    """Raise `StoreUnreachable` where the database does not answer or has cut a transaction off, and `StoreBusy` where
    other writers have not let go of it."""
    try:
        yield
    except _PROBLEMS as error:
        if getattr(error.orig if isinstance(error, DBAPIError) else None, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            raise StoreBusy from error
        raise StoreUnreachable from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise StoreUnreachable from error
        raise


def check(connections: Engine) -> None:
    """Raise `StoreNotOpened` or `StoreUnsuitable` where a project cannot be kept in the database."""
    where = place(connections.url)
    try:
        with connections.connect() as connection:
            _check(connection, where)
    except DBAPIError as error:
        raise StoreNotOpened(where, _reason(error)) from None  # its cause has every connection argument


def place(url: URL) -> str:
    """The database as sentences name it: without user and password."""
    host = url.host or url.query.get("host") or "this machine"
    return f"{url.database or url.query.get('dbname', '')} at {host}{f':{url.port}' if url.port else ''}"


def sort_by_code_points(connection: Connection) -> None:
    """Let every text of the project compare as in SQLite and Python, whatever language the database is set to."""
    columns: dict[str, list[str]] = {}
    for table, column in connection.execute(_OTHERWISE_SORTED):
        columns.setdefault(table, []).append(column)
    for table, names in columns.items():
        changes = ", ".join(f'ALTER COLUMN "{name}" TYPE text COLLATE "C"' for name in names)
        connection.exec_driver_sql(f'ALTER TABLE "{table}" {changes}')


def analyse(connections: Engine) -> None:
    """Have the planner know how the project's tables are filled, without keeping writers waiting."""
    with connections.connect().execution_options(potato_begins=()) as connection:
        quoted = connection.dialect.identifier_preparer.quote
        connection.exec_driver_sql(f"ANALYZE {', '.join(quoted(name) for name in metadata.tables)}")


_OTHERWISE_SORTED = text(
    """
    SELECT t.relname, a.attname
    FROM pg_attribute a JOIN pg_class t ON t.oid = a.attrelid JOIN pg_collation c ON c.oid = a.attcollation
    WHERE t.relnamespace = current_schema()::regnamespace AND t.relkind = 'r' AND t.relname <> 'alembic_version'
      AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid = 'text'::regtype AND c.collname <> 'C'
    ORDER BY t.relname, a.attnum
    """
)


def _address(url: str) -> URL:
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):
        raise StoreUnsuitable.address() from None
    if found.drivername not in NAMES or not (found.database or found.query):
        raise StoreUnsuitable.address()
    return found.set(drivername="postgresql+psycopg")


def _arguments(url: URL) -> dict[str, Any]:
    return {name: value for name, value in CONNECT.items() if name not in url.query} | ENCODING


def _connect(_dialect: Any, _record: Any, args: Any, params: Any) -> Any:
    from potato.store.databases.postgresql_session import Session

    return Session.connect(*args, autocommit=True, **params)


def _connected(session: Any, _record: Any) -> None:
    session.set_up(*_SESSION)


def _checked_out(session: Any, _record: Any, _proxy: Any) -> None:
    if session.ended:
        raise InvalidatePoolError


def _begun(connection: Connection) -> None:
    options = connection.get_execution_options()
    session: Any = connection.connection.driver_connection
    session.begin(*(_WRITES if options.get("potato_write") else options.get("potato_begins", ("BEGIN",))))


def _check(connection: Connection, where: str) -> None:
    def ask(question: str) -> Any:
        return connection.exec_driver_sql(question).scalar()

    if int(ask("SHOW server_version_num")) < OLDEST * 10_000:
        raise StoreUnsuitable.version(where, ask("SHOW server_version"))
    if ask("SHOW server_encoding") != "UTF8":
        raise StoreUnsuitable.encoding(where, ask("SHOW server_encoding"))
    schema = ask("SELECT current_schema()")
    if schema is None:
        raise StoreUnsuitable.schema(where, ask("SHOW search_path"))
    if not ask("SELECT has_schema_privilege(current_schema(), 'CREATE')"):
        raise StoreUnsuitable.rights(where, ask("SELECT current_user"), schema)


def _reason(error: DBAPIError) -> str:
    """What the driver says, in one line: the last, since it tries each address of a host in turn."""
    lines = [line.strip() for line in str(error.orig).splitlines() if line.strip()]
    said = next((line for line in lines if "FATAL:" in line), lines[0] if lines else type(error.orig).__name__)
    return said.rsplit("FATAL:", 1)[-1].rsplit("failed: ", 1)[-1].strip()[:300]
