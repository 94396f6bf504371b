"""Answers that the project does not take any more: of a label or a question that has left it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from sqlalchemy import Connection, Text, cast, func, select

from potato.schemes import InvalidAnswer, Scheme
from potato.store.tables import annotations as answers_

_SAID = cast(answers_.c.value, Text)
_DIFFERENT = (
    select(answers_.c.scheme, _SAID, func.count()).group_by(answers_.c.scheme, _SAID).order_by(answers_.c.scheme)
)


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
