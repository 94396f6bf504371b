"""A real PostgreSQL for tests: started by the test process, on loopback, in a folder of its own, and gone with it.

The fixture `postgres` is the one of this process; it trades safety for speed. Tests of restarts and of durability
`start` one of their own. The fixture `postgres_url` names an empty schema, which is all that a project needs.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from conftest import missing
from ports import free_port

LIMIT_S = 120
ROLE = PASSWORD = DATABASE = "potato"
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
"""What a test of a crash of the server process needs is there still: only a crash of the machine would lose data."""
SETTINGS = (
    "listen_addresses=127.0.0.1",
    "max_connections=200",
    "shared_buffers=32MB",
    "max_wal_size=256MB",
    "jit=off",
    "max_parallel_workers_per_gather=0",
    "log_min_messages=fatal",
)
_names = count()


class Postgres:
    """One server with the role and the database `potato`. The role owns the database, and is nothing more."""

    def __init__(self, folder: Path, settings: tuple[str, ...] = FAST) -> None:
        self.folder = folder
        self.port = free_port()
        self._settings = (*SETTINGS, *settings, f"port={self.port}", f"unix_socket_directories={folder}")
        self._process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        """Make the cluster, start it, and make the role and the database."""
        self._initialise()
        self.start()
        self.admin(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
        self.admin(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")

    def url(self, schema: str = "", *, user: str = ROLE, password: str = PASSWORD, database: str = DATABASE) -> str:
        """The address of a database as a project file has it; with `schema`, of that one in it."""
        options = f"?options={quote(f'-csearch_path={schema}', safe='')}" if schema else ""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}{options}"

    def admin(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run one statement as the superuser, outside any transaction; its rows."""
        import psycopg

        with psycopg.connect(
            host=str(self.folder), port=self.port, user="postgres", dbname=database, autocommit=True
        ) as conn:
            cursor = conn.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def schema(self, name: str) -> str:
        """Make a schema that the role owns, unless it is there; its address."""
        self.admin(f"CREATE SCHEMA IF NOT EXISTS {name} AUTHORIZATION {ROLE}", DATABASE)
        return self.url(name)

    def start(self) -> None:
        """Let the server run, and wait until it answers."""
        settings = [part for setting in self._settings for part in ("-c", setting)]
        with (self.folder / "server.log").open("ab") as log:
            command = [*_as_owner(), program("postgres"), "-D", str(self.folder / "data"), *settings]
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + LIMIT_S
        while not self._answers():
            assert self._process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(0.02)

    def stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """End the server: SIGINT cuts every session off, SIGQUIT ends it at once, as a crash does."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(LIMIT_S)
            self._process = None

    def log(self) -> str:
        """What the server has said."""
        return (self.folder / "server.log").read_text("utf-8", "replace")

    def _answers(self) -> bool:
        command = [program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def _initialise(self) -> None:
        command = [program("initdb"), "-D", str(self.folder / "data"), "-U", "postgres", "-E", "UTF8", "--no-sync"]
        command += ["--auth-local=trust", "--auth-host=scram-sha-256", "--locale=C.UTF-8", "--no-instructions"]
        done = subprocess.run([*_as_owner(), *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


@functools.cache
def program(name: str) -> str:
    """The path of one of PostgreSQL's programs; Debian keeps the server's own out of the way."""
    there = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(there[-1]) if there else shutil.which(name)
    if found is None:
        missing("PostgreSQL")
        raise AssertionError
    return found


@contextlib.contextmanager
def start(settings: tuple[str, ...] = FAST) -> Iterator[Postgres]:
    """A server for as long as the context lasts. With no settings it is as careful as a real one."""
    program("postgres")
    folder = Path(tempfile.mkdtemp(prefix="potato-postgres-"))
    if os.getuid() == 0:
        account = _account()
        os.chown(folder, account.pw_uid, account.pw_gid)
    server = Postgres(folder, settings)
    try:
        server.create()
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(folder)


@contextlib.contextmanager
def fresh(server: Postgres) -> Iterator[str]:
    """The address of an empty schema, which is dropped in the end."""
    name = f"fresh_{next(_names)}"
    yield server.schema(name)
    drop(server, [name])


def drop(server: Postgres, schemas: list[str]) -> None:
    """Forget schemas with all that is in them, whoever still reads there."""
    for name in schemas:
        server.admin(f"SET lock_timeout = '20s'; DROP SCHEMA IF EXISTS {name} CASCADE", DATABASE)


def forget(server: Postgres, folder: Path) -> None:
    """Drop the schemas of the projects that lie below `folder` (see `on_postgres/sitecustomize.py`)."""
    if server.admin("SELECT to_regclass('projects')", DATABASE) == [(None,)]:
        return
    below = f"starts_with(folder, '{folder}')"
    drop(server, [name for (name,) in server.admin(f"SELECT schema FROM projects WHERE {below}", DATABASE)])
    server.admin(f"DELETE FROM projects WHERE {below}", DATABASE)


def rows_below(address: str, folder: Path) -> dict[str, list[Any]]:
    """Every row of the projects that lie below `folder`, by table."""
    import psycopg

    found: dict[str, list[Any]] = {}
    with psycopg.connect(address) as conn:
        for (schema,) in conn.execute("SELECT schema FROM projects WHERE starts_with(folder, %s)", [f"{folder}"]):
            names = conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", [schema])
            for (name,) in names.fetchall():
                rows = conn.execute(f'SELECT t.*, CAST(t AS text) FROM "{schema}"."{name}" AS t')
                found.setdefault(name, []).extend(sorted(rows.fetchall(), key=lambda row: row[-1]))
    return found


def _account() -> pwd.struct_passwd:
    """Who runs the server when root may not: the package's own account, or nobody."""
    names = {account.pw_name for account in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")


def _as_owner() -> list[str]:
    """What goes before a command, so that it runs as one who may run it, and ends when this process is killed."""
    ends = ["setpriv", "--pdeathsig", "QUIT"]
    if os.getuid() != 0:
        return ends
    account = _account()
    return [*ends, f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
