"""The store: tables, migrations and queries; the only place that knows SQL."""

from sqlalchemy import Connection

from potato.store.databases.database import Database
from potato.store.databases.writer import Writer

__all__ = ["Connection", "Database", "Writer"]
