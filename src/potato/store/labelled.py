"""How much of each scheme is labelled: what the training form shows."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from potato.store.tables import annotations

_ITEMS = select(annotations.c.scheme, func.count(annotations.c.item.distinct())).group_by(annotations.c.scheme)


def items_by_scheme(connection: Connection) -> dict[str, int]:
    """Scheme → how many items have at least one answer to it; a scheme without any is left out."""
    return {row[0]: row[1] for row in connection.execute(_ITEMS)}
