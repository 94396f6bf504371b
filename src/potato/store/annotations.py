"""Answers: the one path that writes them, and the ways to read them.

Every write is an upsert of the current answer and a line of history in the caller's transaction. Since (item, user,
scheme) is unique, a question has one answer of each annotator, whatever was clicked, and however often it was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, bindparam, delete, exists, func, insert, select

from potato.errors import PotatoError
from potato.schemes import Answer, InvalidAnswer, Scheme
from potato.store.clock import to_text
from potato.store.databases.prepared import Prepared
from potato.store.databases.together import together
from potato.store.databases.upsert import upsert
from potato.store.rules import Rules
from potato.store.settling import Key, Standing, Standings, State, settle, standings
from potato.store.tables import annotation_history, assignments, items
from potato.store.tables import annotations as answers_

STREAMED = {"yield_per": 2000}


class RequestIdReused(PotatoError):
    """A request id that has saved another item. Nothing was saved."""

    code = "request_id_reused"
    status = 409

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"the request id {request_id!r:.80} has already saved another item",
            hint="Every save needs a request id of its own; a repeated save repeats its id.",
        )


@dataclass(frozen=True)
class Save:
    """What one annotator answers to some questions of one item. An answer of None takes the answer back."""

    user: int
    item: int
    answers: Mapping[str, Answer | None]
    at: datetime
    request_id: str | None = None
    """Names the request; saving it again changes nothing."""
    source: str = "page"
    suggestions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By scheme, the suggestion that was shown: `{run_id, model_version, payload, confidence}`, and `hidden` if it was
    not, but kept to be compared with the answer."""
    elapsed_ms: int | None = None
    shown: Mapping[str, Any] = field(default_factory=dict)
    """By scheme, how the question stood, where that differs from person to person."""


@dataclass(frozen=True)
class Saved:
    """What a save came to: when it was saved, whether it had been already, whether the annotator is done with the
    item, and whether enough others were done with it before."""

    at: str
    repeated: bool
    item_done: bool
    extra: bool


@dataclass(frozen=True)
class Entry:
    """One answer on its way into the store; `value` None takes it back."""

    item: int
    user: int
    scheme: str
    value: Answer | None
    at: str
    source: str
    origin: str = "none"
    suggestion: Mapping[str, Any] | None = None
    elapsed_ms: int | None = None
    shown: Any = None
    request_id: str | None = None


_OF_USER = Prepared(
    select(answers_.c.scheme, answers_.c.value).where(
        answers_.c.item == bindparam("of_item"), answers_.c.user == bindparam("of_user")
    )
)
_SAVED_AT = Prepared(
    select(func.max(answers_.c.at)).where(
        answers_.c.item == bindparam("of_item"), answers_.c.user == bindparam("of_user")
    )
)
_HISTORY = Prepared(insert(annotation_history).inline(), [field.name for field in fields(Entry)])
_REQUEST = Prepared(
    select(annotation_history.c.item, annotation_history.c.at)
    .where(annotation_history.c.user == bindparam("of_user"), annotation_history.c.request_id == bindparam("request"))
    .limit(1)
)
_STANDING = select(assignments.c.state, assignments.c.extra).where(
    assignments.c.item == bindparam("of_item"), assignments.c.user == bindparam("of_user")
)
_DELETE = delete(answers_).where(
    answers_.c.item == bindparam("of_item"),
    answers_.c.user == bindparam("of_user"),
    answers_.c.scheme == bindparam("of_scheme"),
)
_NOT_SKIPPED = ~exists().where(
    assignments.c.item == answers_.c.item,
    assignments.c.user == answers_.c.user,
    assignments.c.state == State.SKIPPED.value,
)
_LABELS = (
    select(answers_.c.item, answers_.c.user, answers_.c.scheme, answers_.c.value)
    .where(answers_.c.scheme.in_(bindparam("schemes", expanding=True)), _NOT_SKIPPED)
    .order_by(answers_.c.item, answers_.c.user, answers_.c.scheme)
)
_SPAN_LABELS = (
    select(answers_.c.item, answers_.c.user, answers_.c.value, func.length(items.c.text))
    .join(items, items.c.seq == answers_.c.item)
    .where(answers_.c.scheme == bindparam("of_scheme"), _NOT_SKIPPED)
    .order_by(answers_.c.item, answers_.c.user)
)
_COUNTS = select(answers_.c.scheme, func.count()).group_by(answers_.c.scheme)

_SKIP_COUNT = select(func.count()).where(assignments.c.state == State.SKIPPED.value)
_FLAG_COUNT = select(func.count()).where(assignments.c.flag.is_not(None))
_EXTRA_COUNT = select(func.count()).where(
    assignments.c.extra, exists().where(answers_.c.item == assignments.c.item, answers_.c.user == assignments.c.user)
)
_LABELLED = select(answers_.c.scheme, func.count(answers_.c.item.distinct())).group_by(answers_.c.scheme)


def save(conn: Connection, saved: Save, rules: Rules) -> Saved:
    """Write what an annotator answers: all of it or nothing. The answers have been parsed by their schemes.

    What they answered to questions that they are not asked after this is taken back in the same write. The same
    request again changes nothing and gets the same answer. Raises `RequestIdReused`.
    """
    if saved.request_id is not None:
        repeated = _REQUEST.first(conn, of_user=saved.user, request=saved.request_id)
        if repeated is not None:
            return _repeated(conn, saved, *repeated)
    at = to_text(saved.at)
    stored, before = of_user(conn, saved.user, saved.item), standings(conn, [saved.item])
    answers = {scheme: value for scheme, value in {**stored, **saved.answers}.items() if value is not None}
    unasked = rules.unasked(answers)
    changes = {**saved.answers, **dict.fromkeys(unasked)}
    done = rules.is_done({scheme: value for scheme, value in answers.items() if scheme not in unasked})
    with together(conn):
        record(conn, [_entry(saved, scheme, value, at, rules) for scheme, value in changes.items()])
        extra = _settle(conn, saved, at, rules, before, done=done)
    return Saved(at, repeated=False, item_done=done, extra=extra)


def record(conn: Connection, entries: Sequence[Entry]) -> None:
    """Write answers and their history. Every answer in the store came this way; who calls settles the standings."""
    written = [_row(entry) for entry in entries if entry.value is not None]
    taken_back = [
        {"of_item": entry.item, "of_user": entry.user, "of_scheme": entry.scheme}
        for entry in entries
        if entry.value is None
    ]
    upsert(conn, answers_, ("item", "user", "scheme"), written)
    if taken_back:
        conn.execute(_DELETE, taken_back)
    if entries:
        _HISTORY.run(conn, [{**_row(entry), "request_id": entry.request_id} for entry in entries])


def origin(scheme: Scheme | None, value: Answer | None, suggestion: Mapping[str, Any] | None) -> str:
    """How an answer stands to the suggestion that was shown: `none` was, it was `accepted`, or `changed`."""
    if suggestion is None or scheme is None or suggestion.get("hidden"):
        return "none"
    try:
        return "accepted" if scheme.prediction_answer(suggestion["payload"]) == value else "changed"
    except InvalidAnswer:
        return "changed"


def of_user(conn: Connection, user: int, item: int) -> dict[str, Answer]:
    """What `user` has answered to `item`, by scheme."""
    return dict(_OF_USER.all(conn, of_item=item, of_user=user))


def saved_at(conn: Connection, user: int, item: int) -> str | None:
    """When `user` last answered something of `item` that stands; None where nothing does."""
    at: str | None = _SAVED_AT.scalar(conn, of_item=item, of_user=user)
    return at


def labels(conn: Connection, schemes: Sequence[str]) -> Iterator[tuple[int, int, str, Answer]]:
    """Item, annotator, scheme and answer of every answer to `schemes`, ordered by item, streamed.

    The answers of an annotator who has skipped the item are left out.
    """
    for row in conn.execute(_LABELS, {"schemes": list(schemes)}, execution_options=STREAMED):
        yield row[0], row[1], row[2], row[3]


def labels_with_length(conn: Connection, scheme: str) -> Iterator[tuple[int, int, Answer, int]]:
    """Item, annotator, answer and how many characters the item's text has, of every answer to `scheme`; as `labels`."""
    for row in conn.execute(_SPAN_LABELS, {"of_scheme": scheme}, execution_options=STREAMED):
        yield row[0], row[1], row[2], row[3]


def count_by_scheme(conn: Connection) -> dict[str, int]:
    """How many answers each scheme has, those of schemes that the project no longer has included."""
    return {row[0]: row[1] for row in conn.execute(_COUNTS)}


def count_skips(conn: Connection) -> int:
    """How many times an annotator has skipped an item."""
    return conn.execute(_SKIP_COUNT).scalar() or 0


def count_flags(conn: Connection) -> int:
    """How many times an annotator has flagged an item."""
    return conn.execute(_FLAG_COUNT).scalar() or 0


def count_extra(conn: Connection) -> int:
    """How many times an annotator has answered an item that enough others had answered."""
    return conn.execute(_EXTRA_COUNT).scalar() or 0


def labelled_items(conn: Connection) -> dict[str, int]:
    """How many items have at least one answer, by scheme."""
    return {row[0]: row[1] for row in conn.execute(_LABELLED)}


def _repeated(conn: Connection, saved: Save, item: int, at: str) -> Saved:
    if item != saved.item:
        raise RequestIdReused(saved.request_id or "")
    row = conn.execute(_STANDING, {"of_item": item, "of_user": saved.user}).first()
    done = row is not None and row.state == State.DONE.value
    return Saved(at, repeated=True, item_done=done, extra=bool(row and row.extra))


def _entry(saved: Save, scheme: str, value: Answer | None, at: str, rules: Rules) -> Entry:
    suggestion = saved.suggestions.get(scheme)
    return Entry(
        item=saved.item,
        user=saved.user,
        scheme=scheme,
        value=value,
        at=at,
        source=saved.source,
        origin=origin(rules.schemes.get(scheme), value, suggestion),
        suggestion=suggestion,
        elapsed_ms=saved.elapsed_ms,
        shown=saved.shown.get(scheme),
        request_id=saved.request_id,
    )


def _row(entry: Entry) -> dict[str, Any]:
    return {
        "item": entry.item,
        "user": entry.user,
        "scheme": entry.scheme,
        "value": entry.value,
        "at": entry.at,
        "source": entry.source,
        "origin": entry.origin,
        "suggestion": None if entry.suggestion is None else dict(entry.suggestion),
        "elapsed_ms": entry.elapsed_ms,
        "shown": entry.shown,
    }


def _settle(conn: Connection, saved: Save, at: str, rules: Rules, before: Standings, *, done: bool) -> bool:
    key: Key = (saved.item, saved.user)
    stood = before[saved.item].get(saved.user)
    if done and (stood is None or stood.state is not State.DONE):
        return key in settle(conn, {key: Standing(State.DONE, at)}, rules, before)
    if not done and (stood is None or stood.state in (State.DONE, State.SKIPPED)):
        settle(conn, {key: Standing(State.LAPSED, at)}, rules, before)
    return done and stood is not None and stood.extra
