"""What can be wrong with a database, as a sentence and what to do. None has the password in it."""

from __future__ import annotations

from potato.errors import PotatoError

OLDEST = 13
"""The oldest version of PostgreSQL that Potato works with."""

WAIT_S = 60
"""How long a write waits for those of other processes, with either database."""

_HINTS = (  # what the server or libpq says → what to do
    (
        ("password authentication failed", "no password supplied", "role ", "no pg_hba.conf entry"),
        "Look at the user and the password in database_url, and at what the server's pg_hba.conf lets in.",
    ),
    (
        ("does not exist",),
        "Make the database first (CREATE DATABASE name OWNER user), or correct its name in database_url.",
    ),
    (
        ("could not translate host name", "failed to resolve host", "name or service not known"),
        "Look at the host's name in database_url.",
    ),
    (
        ("too many clients", "remaining connection slots", "too many connections"),
        "Raise max_connections of the server, or let fewer programs connect to it.",
    ),
    (("starting up", "shutting down", "in recovery mode"), "Wait until the database server has started."),
)
_HINT = "See that the database server runs and takes connections from this machine at the address in database_url."


class StoreUnreachable(PotatoError):
    """The database does not answer, or has cut a transaction off. Nothing that was not acknowledged is there."""

    code = "store_unreachable"
    status = 503
    retry_after_s = 2

    def __init__(self) -> None:
        super().__init__("The project's database does not answer, so nothing was saved", hint="Try again in a moment.")


class StoreBusy(PotatoError):
    """Somebody else has been writing for so long that this write was given up. Nothing of it is there."""

    code = "store_busy"
    status = 503
    retry_after_s = 5

    def __init__(self) -> None:
        super().__init__(
            f"The project's database was busy with another write for {WAIT_S} seconds, so nothing was saved",
            hint="Try again in a moment. Where it goes on, a program holds a transaction open: end that one.",
        )


class StoreNotOpened(PotatoError):
    """The database of `database_url` cannot be opened."""

    code = "store_not_opened"
    status = 503

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"the database {where} cannot be opened: {reason}", hint=_hint(reason))


class DriverMissing(PotatoError):
    """The package that speaks to PostgreSQL is not installed."""

    code = "driver_missing"

    def __init__(self) -> None:
        super().__init__(
            "database_url names a PostgreSQL database, and the package psycopg is not installed",
            hint="Install it: pip install 'potato-annotation[postgres]'",
        )


class StoreUnsuitable(PotatoError):
    """The database is there, and Potato cannot keep a project in it."""

    code = "store_unsuitable"

    @classmethod
    def address(cls) -> StoreUnsuitable:
        """What `database_url` says is no address of a PostgreSQL database."""
        return cls(
            "database_url is not the address of a PostgreSQL database",
            hint="It looks like postgresql://user:password@host:5432/name; percent-encode what is odd in a password.",
        )

    @classmethod
    def version(cls, where: str, version: str) -> StoreUnsuitable:
        """The server is too old."""
        return cls(
            f"the database {where} is of PostgreSQL {version}, which is too old",
            hint=f"Potato needs PostgreSQL {OLDEST} or newer.",
        )

    @classmethod
    def encoding(cls, where: str, encoding: str) -> StoreUnsuitable:
        """The database cannot hold every text."""
        return cls(
            f"the database {where} has the encoding {encoding}, which cannot hold every text",
            hint="Make one with ENCODING 'UTF8' (TEMPLATE template0).",
        )

    @classmethod
    def schema(cls, where: str, search_path: str) -> StoreUnsuitable:
        """No schema of the search path is there."""
        return cls(
            f"the database {where} has none of the schemas that are searched ({search_path})",
            hint="Make one (CREATE SCHEMA name AUTHORIZATION user), or correct search_path in database_url.",
        )

    @classmethod
    def rights(cls, where: str, user: str, schema: str) -> StoreUnsuitable:
        """The user may not make tables."""
        return cls(
            f"{user} may not make tables in the schema {schema} of the database {where}",
            hint=f"Let them: GRANT CREATE, USAGE ON SCHEMA {schema} TO {user}; or make {user} the database's owner.",
        )

    @classmethod
    def newer(cls, where: str) -> StoreUnsuitable:
        """A newer Potato has made the tables."""
        return cls(
            f"the database {where} was made by a newer version of Potato", hint="Install that version, or newer."
        )


def _hint(reason: str) -> str:
    low = reason.lower()
    return next((hint for signs, hint in _HINTS if any(sign in low for sign in signs)), _HINT)
