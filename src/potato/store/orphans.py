"""Answers that the project does not take any more: of a label or a question that has left it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from sqlalchemy import Connection, Text, cast, func, select

from potato.schemes import InvalidAnswer, Scheme
from potato.store import facts
from potato.store.databases.database import Database
from potato.store.tables import annotations as answers_

FACT = "questions"
"""What the questions took when their answers were looked at last."""
_SAID = cast(answers_.c.value, Text)
_DIFFERENT = (
    select(answers_.c.scheme, _SAID, func.count()).group_by(answers_.c.scheme, _SAID).order_by(answers_.c.scheme)
)


def new_orphans(database: Database, schemes: Mapping[str, Scheme], *, look: bool) -> Counter[str]:
    """As `orphans`, where questions have changed since this was asked last, or where the caller says `look`."""
    now = {
        name: scheme.model_dump(mode="json", exclude={"description", "required", "show_if"})
        for name, scheme in schemes.items()
    }
    with database.read() as conn:
        before = facts.get(conn, FACT)
        found = orphans(conn, schemes) if look or before not in (None, now) else Counter[str]()
    if before != now:
        with database.write() as conn:
            facts.put(conn, FACT, now)
    return found


def orphans(conn: Connection, schemes: Mapping[str, Scheme]) -> Counter[str]:
    """Question → how many of its answers `schemes` do not take. Reads every answer: not for a page."""
    found: Counter[str] = Counter()
    for name, said, count in conn.execute(_DIFFERENT, execution_options={"yield_per": 2_000}):
        if not _takes(schemes.get(name), said):
            found[name] += count
    return found


def _takes(scheme: Scheme | None, said: str) -> bool:
    try:
        return scheme is not None and scheme.parse(json.loads(said)) is not None
    except InvalidAnswer:
        return False
