"""What the overview counts. Every figure comes from a counter or an index, however large the project is."""

from __future__ import annotations

from dataclasses import dataclass

from potato.project import Project
from potato.schemes import Scheme
from potato.store import Connection, users
from potato.store.annotations import count_by_scheme
from potato.store.facts import tally
from potato.store.items import VISIBLE
from potato.store.settling import ITEMS_DONE
from potato.store.users import User


@dataclass(frozen=True)
class Question:
    """A scheme and how many answers it has; `scheme` is None for one that is no longer in the project."""

    name: str
    scheme: Scheme | None
    answers: int


@dataclass(frozen=True)
class Overview:
    """The figures of the page. `more` is the name after which the next page of annotators begins."""

    items: int
    items_done: int
    answers: int
    questions: list[Question]
    annotators: list[User]
    more: str | None


def overview(connection: Connection, project: Project, after: str, limit: int) -> Overview:
    """How the project stands, with up to `limit` annotators whose names follow `after`."""
    done, total = tally(connection, ITEMS_DONE), tally(connection, VISIBLE)
    counts = count_by_scheme(connection)
    asked = [Question(name, scheme, counts.get(name, 0)) for name, scheme in project.schemes.items()]
    gone = [Question(name, None, count) for name, count in sorted(counts.items()) if name not in project.schemes]
    people = users.page(connection, after, limit + 1)
    return Overview(
        items=total,
        items_done=done,
        answers=sum(counts.values()),
        questions=asked + gone,
        annotators=people[:limit],
        more=people[limit - 1].name if len(people) > limit else None,
    )
