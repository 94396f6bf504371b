"""The store: tables, migrations and queries; the only place that knows SQL."""

from sqlalchemy import Connection

from potato.store.database import Database
from potato.store.writer import Writer

__all__ = ["Connection", "Database", "Writer"]
