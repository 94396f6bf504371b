"""How people answered where a run's suggestions were shown to them, and where they were hidden.

Answers that a review gave are not counted: a reviewer judges the suggestion, an annotator the item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from sqlalchemy import Connection, Text, cast, func, select

from potato.schemes import Scheme
from potato.store.annotations import STREAMED, origin
from potato.store.tables import annotations as answers_
from potato.store.tables import users
from potato.store.training.verdicts import SOURCE


@dataclass
class Use:
    """Answers to one scheme, counted: where its suggestion was shown, and of those the ones that took it as it was;
    where it was hidden, and of those the ones that say the same. Times are of those answers, in milliseconds."""

    shown: int = 0
    accepted: int = 0
    hidden: int = 0
    agreed: int = 0
    shown_ms: list[int] = field(default_factory=list, compare=False, repr=False)
    hidden_ms: list[int] = field(default_factory=list, compare=False, repr=False)
    annotators: dict[str, Use] = field(default_factory=dict, compare=False, repr=False)
    """The same for each annotator."""

    def median_ms(self, *, hidden: bool) -> float | None:
        """The median time to an answer, with or without the suggestion; None where no time was taken."""
        times = self.hidden_ms if hidden else self.shown_ms
        return median(times) if times else None


def use_of(conn: Connection, run_id: str, schemes: Mapping[str, Scheme]) -> dict[str, Use]:
    """The use of a run's suggestions, by scheme; those that nobody has answered yet are left out."""
    a = answers_.c
    of_run = a.suggestion["run_id"].as_string() == run_id
    mine = (a.scheme.in_(list(schemes)), a.source != SOURCE, of_run)
    found: dict[str, Use] = {}
    times = func.aggregate_strings(cast(a.elapsed_ms, Text), ",")
    shown = (
        select(a.scheme, users.c.name, a.origin, func.count(), times)
        .join(users, users.c.id == a.user)
        .where(a.origin != "none", *mine)
        .group_by(a.scheme, users.c.name, a.origin)
    )
    for scheme, annotator, stands, count, elapsed in conn.execute(shown):
        for use in _of(found, scheme, annotator):
            use.shown += count
            use.accepted += count if stands == "accepted" else 0
            use.shown_ms += map(int, elapsed.split(",")) if elapsed else ()
    hidden = (
        select(a.scheme, users.c.name, a.value, a.suggestion, a.elapsed_ms)
        .join(users, users.c.id == a.user)
        .where(a.origin == "none", *mine)
    )
    for scheme, annotator, value, suggestion, elapsed_ms in conn.execute(hidden, execution_options=STREAMED):
        same = origin(schemes[scheme], value, {**suggestion, "hidden": False}) == "accepted"
        for use in _of(found, scheme, annotator):
            use.hidden += 1
            use.agreed += same
            use.hidden_ms += () if elapsed_ms is None else (elapsed_ms,)
    return found


def _of(found: dict[str, Use], scheme: str, annotator: str) -> tuple[Use, Use]:
    """What is counted for a scheme, and for that annotator."""
    use = found.setdefault(scheme, Use())
    return use, use.annotators.setdefault(annotator, Use())
