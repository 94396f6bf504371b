"""How people answered where a run's suggestions were shown to them, and where they were hidden.

Answers that a review gave are not counted: a reviewer judges the suggestion, an annotator the item.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from sqlalchemy import Connection, select

from potato.schemes import Scheme
from potato.store.annotations import STREAMED, origin
from potato.store.tables import annotations as answers_
from potato.store.tables import users
from potato.store.verdicts import SOURCE


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

    def add(self, *, hidden: bool, same: bool, elapsed_ms: int | None) -> None:
        """Count one answer; `same`: it says what was suggested."""
        if hidden:
            self.hidden += 1
            self.agreed += same
        else:
            self.shown += 1
            self.accepted += same
        if elapsed_ms is not None:
            (self.hidden_ms if hidden else self.shown_ms).append(elapsed_ms)


def use_of(conn: Connection, run_id: str, schemes: Mapping[str, Scheme]) -> dict[str, Use]:
    """The use of a run's suggestions, by scheme; those that nobody has answered yet are left out."""
    a = answers_.c
    ran = a.suggestion["run_id"].as_string() == run_id
    query = (
        select(a.scheme, users.c.name, a.value, a.origin, a.suggestion, a.elapsed_ms)
        .join(users, users.c.id == a.user)
        .where(a.scheme.in_(list(schemes)), ran, a.source != SOURCE)
    )
    found: dict[str, Use] = {}
    for scheme, annotator, value, stands, suggestion, elapsed_ms in conn.execute(query, execution_options=STREAMED):
        hidden = bool(suggestion.get("hidden"))
        same = (
            origin(schemes[scheme], value, {**suggestion, "hidden": False}) == "accepted"
            if hidden
            else stands == "accepted"
        )
        use = found.setdefault(scheme, Use())
        for each in (use, use.annotators.setdefault(annotator, Use())):
            each.add(hidden=hidden, same=same, elapsed_ms=elapsed_ms)
    return found
