"""How people answered where a run's suggestions were shown to them, and where they were hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from potato.schemes import Scheme
from potato.store.annotations import STREAMED, origin
from potato.store.tables import annotations as answers_


@dataclass
class Use:
    """Answers to one scheme, counted: where its suggestion was shown, and of those the ones that took it as it was;
    where it was hidden, and of those the ones that say the same."""

    shown: int = 0
    accepted: int = 0
    hidden: int = 0
    agreed: int = 0


def use_of(conn: Connection, run_id: str, schemes: Mapping[str, Scheme]) -> dict[str, Use]:
    """The use of a run's suggestions, by scheme; those that nobody has answered yet are left out."""
    a = answers_.c
    ran = a.suggestion["run_id"].as_string() == run_id
    query = select(a.scheme, a.value, a.origin, a.suggestion).where(a.scheme.in_(list(schemes)), ran)
    found: dict[str, Use] = {}
    for name, value, stands, suggestion in conn.execute(query, execution_options=STREAMED):
        use = found.setdefault(name, Use())
        if suggestion.get("hidden"):
            use.hidden += 1
            use.agreed += origin(schemes[name], value, {**suggestion, "hidden": False}) == "accepted"
        else:
            use.shown += 1
            use.accepted += stands == "accepted"
    return found
