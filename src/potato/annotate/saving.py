"""From an answer in a browser to one durable write in the store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from potato.annotate.suggested import suggested
from potato.errors import PotatoError
from potato.items.text import storable
from potato.project import Project
from potato.schemes import Answer, InvalidAnswer, Scheme
from potato.store import Connection, assignments, items
from potato.store.annotations import Save, Saved
from potato.store.annotations import save as save_answers
from potato.store.assignments import Progress
from potato.store.steps import UNDO, once_given
from potato.web.auth import User
from potato.web.protection import MAX_BODY
from potato.web.site import Site

T = TypeVar("T")

_log = logging.getLogger("potato.annotate")

MAX_ELAPSED_MS = 24 * 60 * 60 * 1000


class SaveBody(BaseModel):
    """Answers to some of an item's questions, as they changed."""

    model_config = ConfigDict(extra="forbid")

    request_id: str = Field(min_length=8, max_length=64, pattern=r"^[\w-]+$")
    """Made by the browser; the same one again is the same save."""
    annotator: str = Field(max_length=200)
    """For whom the page was made. Another annotator may have signed in since, in the same browser."""
    answers: dict[str, Any] = Field(min_length=1, max_length=200)
    """Scheme → answer; null clears it."""
    elapsed_ms: int | None = Field(default=None, ge=0)
    """Time that the item was in view before this answer."""
    shown: str | None = Field(default=None, max_length=MAX_BODY)
    """The page's signed record of the suggestions that it showed."""
    undo: bool = False
    """Whether the answers are those from before the last step, which is taken back."""
    next: bool = False
    """Whether the item that follows is to come with the reply, once the annotator is done with this one."""


Reason = Annotated[str, Field(max_length=1000), BeforeValidator(storable)]


class SkipBody(BaseModel):
    """Why an item is passed over."""

    model_config = ConfigDict(extra="forbid")

    annotator: str = Field(max_length=200)
    reason: Reason = ""


class FlagBody(BaseModel):
    """Why somebody should look at an item; null takes the flag off."""

    model_config = ConfigDict(extra="forbid")

    annotator: str = Field(max_length=200)
    reason: Reason | None


class OtherAnnotator(PotatoError):
    """The page belongs to one annotator, the session to another."""

    code = "other_annotator"
    status = 409

    def __init__(self, page: str, session: str) -> None:
        super().__init__(
            f"This answer is {page}'s, and {session} is signed in; nothing was saved",
            hint=f"The answer is kept in this browser and is sent when {page} signs in again.",
        )


class AnswersRefused(PotatoError):
    """Some answers do not fit the project as it is now. The others of the same request were saved."""

    code: ClassVar[str] = "answers_refused"
    status: ClassVar[int] = 409

    def __init__(self, reasons: dict[str, str], saved: list[str]) -> None:
        also = f" Saved: {', '.join(saved)}." if saved else ""
        super().__init__(
            "; ".join(reasons.values()), hint=f"The project has changed: load the page again and answer anew.{also}"
        )


class ItemNotYours(PotatoError):
    """An item that was never given to this annotator, or that does not exist."""

    code = "item_not_yours"
    status = 404

    def __init__(self, seq: int) -> None:
        super().__init__(f"Item number {seq} was not given to you", hint="Go on with the next item.")


def require_same(body_annotator: str, user: User) -> None:
    """Raise `OtherAnnotator` unless the page and the session belong to one annotator."""
    if body_annotator != user.name:
        raise OtherAnnotator(body_annotator, user.name)


def parse_answers(
    schemes: dict[str, Scheme], raw: dict[str, Any], text: str
) -> tuple[dict[str, Answer | None], dict[str, str]]:
    """The answers that the project takes for an item with this text, and for each of the others the reason why not."""
    parsed: dict[str, Answer | None] = {}
    refused: dict[str, str] = {}
    for name, value in raw.items():
        if name not in schemes:
            refused[name] = f"the question {name!r:.120} is no longer in the project"
            continue
        try:
            parsed[name] = None if value is None else _parsed(schemes[name], value, text)
        except InvalidAnswer as error:
            refused[name] = error.message
    return parsed, refused


def _parsed(scheme: Scheme, raw: Any, text: str) -> Answer:
    answer = scheme.parse(raw)
    scheme.check(answer, text)
    return answer


async def save(
    site: Site, user: User, seq: int, body: SaveBody, look: Callable[[Connection, int], T]
) -> tuple[Saved, Progress, T | None]:
    """Save what is valid of `body`, and give what `look` sees of the item that follows, where `body` asks for that and
    this item is done. Raises `AnswersRefused` when not all of it was valid.
    """
    require_same(body.annotator, user)
    answers, refused = parse_answers(site.project.schemes, body.answers, await _quoted(site, user, seq, body))
    if refused and body.undo:
        doubtful = {name: body.answers[name] for name in refused}
        restored = await site.read(lambda connection: once_given(connection, user.id, seq, doubtful))
        answers |= restored
        refused = {name: reason for name, reason in refused.items() if name not in restored}
    if refused and not answers:
        raise AnswersRefused(refused, [])
    order = Save(
        user=user.id,
        item=seq,
        answers=answers,
        request_id=body.request_id,
        at=site.clock(),
        source=UNDO if body.undo else "page",
        suggestions=shown_suggestions(site, seq, body.shown),
        elapsed_ms=None if body.elapsed_ms is None else min(body.elapsed_ms, MAX_ELAPSED_MS),
    )
    done = False

    def write(connection: Connection) -> tuple[Saved, Progress]:
        nonlocal done
        if not assignments.was_given(connection, user.id, seq):
            raise ItemNotYours(seq)
        compared = {**hidden_suggestions(connection, site.project, seq), **order.suggestions}
        stood = _stood(connection, site.project, user, order)
        saved = save_answers(connection, replace(order, suggestions=compared, shown=stood), site.rules)
        done = saved.item_done
        return saved, assignments.progress(connection, user.id)

    def hand_out(connection: Connection) -> int | None:
        given = assignments.following(connection, user.id, seq, order.at, site.rules) if done else None
        return given if isinstance(given, int) else None

    if refused or not body.next:
        saved, progress = await site.write(write)
        if refused:
            raise AnswersRefused(refused, list(answers))
        return saved, progress, None
    # one after the other, and as a rule on disk at once
    written, following = await asyncio.gather(
        site.write(write), site.write_then_read(hand_out, look), return_exceptions=True
    )
    if isinstance(written, BaseException):
        raise written
    if isinstance(following, BaseException):  # the answer is on disk all the same; the page asks for the item itself
        _log.error("no item could be handed out with an answer", exc_info=following)
        following = None
    return *written, following


async def _quoted(site: Site, user: User, seq: int, body: SaveBody) -> str:
    """The item's text, where an answer quotes it; nothing else is read before the write. Raises `ItemNotYours`."""
    schemes = site.project.schemes
    if not any(name in schemes and schemes[name].quotes_text for name in body.answers):
        return ""

    def read(connection: Connection) -> str:
        if not assignments.was_given(connection, user.id, seq):
            raise ItemNotYours(seq)
        return items.texts(connection, [seq])[seq]

    return await site.read(read)


def _stood(connection: Connection, project: Project, user: User, save: Save) -> dict[str, Any]:
    """How the questions stood that differ from person to person: the page shows them by the same rule."""
    varying = [scheme for name, scheme in project.schemes.items() if scheme.varies and name in save.answers]
    item = items.by_seq(connection, save.item) if varying else None
    return {scheme.name: scheme.shown_as(user.name, item.id) for scheme in varying} if item else {}


def hidden_suggestions(connection: Connection, project: Project, seq: int) -> dict[str, dict[str, Any]]:
    """What the model says of the item and the page does not show, where the project hides a share."""
    if project.config.model_training.writeback.hide_share <= 0:
        return {}
    item = items.by_seq(connection, seq)
    hidden = suggested(connection, project, item)[1] if item else {}
    return {scheme: suggestion.as_json() for scheme, suggestion in hidden.items()}


def shown_suggestions(site: Site, seq: int, signed: str | None) -> dict[str, Any]:
    """The suggestions that the page showed, as it was told them; none when the record is not of this item.

    A record that this server did not sign, as after a new secret, costs the record and never the answer.
    """
    record = site.sessions.unsign("shown", signed) if signed else None
    return dict(record["suggestions"]) if record and record["item"] == seq else {}
