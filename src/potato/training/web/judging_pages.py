"""The pages that open behind a run's figures: its held-out items one by one, and its comparison with another run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import HTMLResponse

from potato.project import Project
from potato.store import Connection
from potato.store.training import held_out
from potato.store.training import runs as stored
from potato.store.training.held_out import Which
from potato.store.training.runs import Brief
from potato.training.runs.model import Run, State
from potato.training.web import figures, judging
from potato.training.web.answers import RunId
from potato.training.web.judging import Name
from potato.web.auth import AdminDep
from potato.web.render import render, signed
from potato.web.site import SiteDep

router = APIRouter()

PAGE = 50
"""Items in one page of a list."""

WRONG_SHOWN = 8
"""Items of the run page's list of wrong ones."""

CHOICES = 200
"""Runs that a run can be compared with from its page."""


@dataclass(frozen=True)
class Wrong:
    """The wrong items of one scheme: how many, and the first of them."""

    scheme: str
    count: int
    items: Sequence[dict[str, Any]]


def wrong_items(connection: Connection, run: Run, project: Project) -> dict[str, Wrong]:
    """Scheme → what the run got wrong, the surest first; schemes whose held-out items are not stored are left out."""
    found = {}
    for scheme in held_out.schemes(connection, run.run_id):
        kind = (run.scores.get(scheme) or {}).get("kind")
        which = Which(run.run_id, scheme, wrong=True)
        rows = held_out.page(connection, which, WRONG_SHOWN, by_distance=kind in ("ordinal", "continuous"))
        said = [in_words(row._asdict(), project, scheme) for row in rows]
        found[scheme] = Wrong(scheme, held_out.count(connection, which), said)
    return found


def others(connection: Connection, run: Run) -> list[Brief]:
    """The runs that this one can be compared with, newest first."""
    if run.state is not State.SUCCESS:
        return []
    found = stored.succeeded(connection, CHOICES)
    return [other for other in found if other.run_id != run.run_id and set(other.schemas) & set(run.schemas)]


def in_words(row: dict[str, Any], project: Project, scheme: str) -> dict[str, Any]:
    """The row with its answers as people say them, under `target_text`, `said_text` and so on."""
    known = project.schemes.get(scheme)
    names = [name for name in ("target", "said", "one", "other") if name in row]
    return {**row, **{f"{name}_text": known.told(row[name]) if known else str(row[name]) for name in names}}


@router.get("/runs/{run_id}/items", name="training_items")
async def items_page(
    request: Request,
    run_id: RunId,
    site: SiteDep,
    admin: AdminDep,
    scheme: Annotated[str, Query(max_length=200)],
    human: Name = None,
    model: Name = None,
    wrong: bool = False,
    offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
) -> HTMLResponse:
    """Held-out items of a run: a cell of the confusion matrix, the wrong ones, or all."""
    which = Which(run_id, scheme, human, model, wrong)

    def look(connection: Connection) -> dict[str, Any]:
        listed = judging.listing(connection, site, which, PAGE, offset)
        rows = [in_words(row, site.project, scheme) for row in listed["items"]]
        return {"run": stored.get_or_raise(connection, run_id), "listed": listed, "rows": rows}

    context = await site.read(look)
    return render(request, "training/items.html", here="training", which=which, offset=offset, **context)


@router.get("/runs/{run_id}/compare", name="training_compare")
async def compare_page(
    request: Request, run_id: RunId, site: SiteDep, admin: AdminDep, other: Annotated[str, Query(alias="with")]
) -> HTMLResponse:
    """Two runs side by side; the figures follow as soon as they are measured."""

    def look(connection: Connection) -> dict[str, Any]:
        return {"one": stored.get_or_raise(connection, run_id), "other": stored.get_or_raise(connection, other)}

    return render(request, "training/compare.html", here="training", **await site.read(look))


@router.get("/runs/{run_id}/compare/figures", name="training_compared")
async def compared_part(
    request: Request, run_id: RunId, site: SiteDep, admin: AdminDep, other: Annotated[str, Query(alias="with")]
) -> HTMLResponse:
    """What the comparison page fetches: the figures and the items, which take longer than a page may."""
    compared = await judging.comparison(site, run_id, other)
    cards = [compared_card(name, entry, site.project) for name, entry in compared.items()]
    return render(request, "training/compared.html", cards=cards, one=run_id, other=other)


def compared_card(scheme: str, entry: dict[str, Any], project: Project) -> dict[str, Any]:
    """One scheme's comparison in words."""
    return {
        **entry,
        "scheme": scheme,
        "title": figures.NAMES.get(entry["name"], "Score"),
        "sentence": compared_sentence(entry),
        "rows": [in_words(row, project, scheme) for row in entry["differ"]],
    }


def compared_sentence(entry: dict[str, Any]) -> str:
    """Which of the two is better, and how sure that is."""
    if entry["difference"] is None:
        return f"They cannot be compared: {entry['reason']}."
    if entry["interval"] is None:
        return f"The difference is {signed(entry['difference'])}; it has no interval: {entry['reason']}."
    low, high = entry["interval"]
    spread = f"the difference is {signed(entry['difference'])}, 95\u00a0% interval {signed(low)} to {signed(high)}"
    if low <= 0 <= high:
        return f"Neither is measurably better: {spread}."
    first = (low > 0) == (entry["better"] == "higher")
    return f"{'The first' if first else 'The second'} run is better: {spread}."
