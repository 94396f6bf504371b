"""The adjudication page: what annotators say of each item, and what is decided where they disagree."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import JSONResponse, Response

from potato.errors import PotatoError
from potato.schemes import Answer, InvalidAnswer, Kind, Scheme
from potato.store import Connection, adjudications, items
from potato.store.adjudications import Answered
from potato.store.items import UnknownItem
from potato.web.auth import AdminDep
from potato.web.errors import wants_page
from potato.web.render import render
from potato.web.site import Site, SiteDep

router = APIRouter(include_in_schema=False)

SHOWN = 25
Which = Literal["open", "decided", "all"]


class UnknownQuestion(PotatoError):
    """The project has no question of this name."""

    code = "unknown_question"
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"the project has no question {name!r:.120}")


@dataclass(frozen=True)
class Choice:
    """One answer that may be decided on: `json` is sent, `said` is read; `by` are the annotators who gave it."""

    json: str
    said: str
    by: list[str]
    valid: bool


@dataclass(frozen=True)
class Case:
    """An item with the answers that were given, most frequent first, and the other labels that there are."""

    item: Answered
    given: list[Choice]
    others: list[Choice]
    decided: str | None


@router.get("/admin/adjudication", name="adjudication")
async def show_adjudication(
    request: Request,
    site: SiteDep,
    _admin: AdminDep,
    scheme: Annotated[str | None, Query(max_length=200)] = None,
    show: Which = "open",
    after: Annotated[int, Query(ge=0, le=1 << 53)] = 0,
) -> Response:
    """Items with several annotators' answers to a question."""
    return await _page(request, site, scheme, show, after)


@router.post("/admin/adjudication", name="adjudicate")
async def adjudicate(
    request: Request,
    site: SiteDep,
    admin: AdminDep,
    scheme: Annotated[str, Form(max_length=200)],
    item: Annotated[int, Form(ge=0, le=1 << 53)],
    answer: Annotated[list[str], Form(max_length=100)] = [],  # noqa: B006 - FastAPI copies it
    own: Annotated[str, Form(max_length=100_000)] = "",
    back: Annotated[bool, Form()] = False,
    show: Annotated[Which, Form()] = "open",
    after: Annotated[int, Form(ge=0, le=1 << 53)] = 0,
) -> Response:
    """Decide on an answer: JSON in `answer`, or what was typed, in `own`. With `back`, forget the decision."""
    question = asked(site, scheme)
    try:
        value = None if back else _parsed(question, answer, own)
        await site.write(lambda connection: _decide(connection, site, question, item, value, admin.name))
    except PotatoError as problem:
        if not wants_page(request):
            raise
        return await _page(request, site, scheme, show, after, problem)
    if not wants_page(request):
        return JSONResponse({"item": item, "scheme": scheme, "answer": value})
    return await _page(request, site, scheme, show, after)


def asked(site: Site, name: str) -> Scheme:
    """The project's question of that name. Raises `UnknownQuestion`."""
    if name not in site.project.schemes:
        raise UnknownQuestion(name)
    return site.project.schemes[name]


def _parsed(scheme: Scheme, answers: Sequence[str], own: str) -> Answer:
    """The answer that the form sent. Raises `InvalidAnswer`."""
    if not answers and scheme.kind is Kind.TEXT:
        return scheme.parse(own)
    try:
        values = [json.loads(each) for each in answers or [own]]
    except ValueError:
        raise InvalidAnswer(f"{own!r:.80} is no answer to '{scheme.name}'") from None
    return scheme.parse(values[0])


def _decide(connection: Connection, site: Site, scheme: Scheme, seq: int, value: Answer | None, admin: str) -> None:
    item = items.by_seq(connection, seq)
    if item is None:
        raise UnknownItem(str(seq))
    if value is None:
        adjudications.take_back(connection, seq, scheme.name)
        return
    scheme.check(value, item.text)
    made = adjudications.decided_at(seq, scheme.name, value, admin, site.clock())
    adjudications.decide(connection, [made])


async def _page(
    request: Request, site: Site, name: str | None, show: Which, after: int, problem: PotatoError | None = None
) -> Response:
    scheme = asked(site, name) if name is not None else next(iter(site.project.schemes.values()))
    found = await site.read(lambda connection: adjudications.page(connection, scheme.name, show, after, SHOWN + 1))
    return render(
        request,
        "admin/adjudication.html",
        status=200 if problem is None else problem.status,
        here="adjudication",
        scheme=scheme,
        own={Kind.CONTINUOUS: "number", Kind.TEXT: "text"}.get(scheme.kind),
        show=show,
        after=after,
        cases=[case(scheme, item) for item in found[:SHOWN]],
        more=found[SHOWN - 1].seq if len(found) > SHOWN else None,
        problem=problem,
    )


def case(scheme: Scheme, item: Answered) -> Case:
    """The item with what can be decided on at once."""
    by: dict[str, list[str]] = {}
    for annotator, answer in item.answers:
        by.setdefault(json.dumps(answer, ensure_ascii=False), []).append(annotator)
    given = [_choice(scheme, said, names) for said, names in sorted(by.items(), key=lambda pair: -len(pair[1]))]
    others = [json.dumps(answer, ensure_ascii=False) for answer in _labels(scheme)]
    decided = None if item.decided is None else _said(scheme, item.decided.value)
    return Case(item, given, [_choice(scheme, said, []) for said in others if said not in by], decided)


def _labels(scheme: Scheme) -> list[Answer]:
    """Every answer that a question which takes one label takes."""
    if scheme.kind in (Kind.NOMINAL, Kind.PAIRWISE):
        return list(scheme.label_names())
    return [int(name) for name in scheme.label_names()] if scheme.kind is Kind.ORDINAL else []


def _choice(scheme: Scheme, said: str, names: list[str]) -> Choice:
    answer = json.loads(said)
    return Choice(said, _said(scheme, answer), names, _takes(scheme, answer))


def _said(scheme: Scheme, answer: Any) -> str:
    return scheme.said(answer) if _takes(scheme, answer) else json.dumps(answer, ensure_ascii=False)


def _takes(scheme: Scheme, answer: Any) -> bool:
    try:
        scheme.parse(answer)
    except InvalidAnswer:
        return False
    return True
