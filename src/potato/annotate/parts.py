"""The part of the annotation page that changes from item to item, for a page that is there already."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from potato.annotate.view import ItemPage
from potato.store.assignments import Progress
from potato.web.auth import User
from potato.web.errors import plain
from potato.web.render import fill
from potato.web.site import site_of

NO_ITEM = {"item": None}
"""What stands for an item where there is none: the page for that is another one."""


def wants_part(request: Request) -> bool:
    """Whether the annotation page's script asks, which has the rest of the page. A browser gets the whole."""
    return "application/json" in request.headers.get("accept", "")


def part(request: Request, user: User, page: ItemPage) -> dict[str, Any]:
    """An item with its questions: its number, the page's title, and what takes the place of the page's `#work`."""
    seq, questions = page.item.seq, request.app.state.questions
    work = fill(request, "annotate/work.html", at=f"/annotate/{seq}", user=user, page=page, question=questions.html)
    return {"item": seq, "title": plain(title(request, page)), "work": plain(work)}


def title(request: Request, page: ItemPage) -> str:
    """The title of an item's page."""
    return f"Item {page.item.id} \u2013 {site_of(request).project.config.annotation_task_name}"


def counts(progress: Progress) -> dict[str, int]:
    """What the page shows of how far the annotator and the project are."""
    return {"done": progress.done, "total_done": progress.total_done, "total": progress.total}
