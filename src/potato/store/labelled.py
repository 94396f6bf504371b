"""How much of each scheme is labelled: what the training form shows."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from potato.store import tables

_ITEM, _SCHEME = tables.annotations.c.item, tables.annotations.c.scheme
_COUNTS = select(_SCHEME, func.count(_ITEM.distinct())).group_by(_SCHEME)


def items_by_scheme(connection: Connection) -> dict[str, int]:
    """Scheme → how many items have at least one answer to it; a scheme without any is left out."""
    return {row[0]: row[1] for row in connection.execute(_COUNTS)}
