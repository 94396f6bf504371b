"""Everything that was answered, item by item, streamed from one snapshot: what an export reads.

Rows are read as plain tuples with JSON as text, and repeated answers are parsed once: a million answers take seconds.
SQLite keeps a JSON text that is a bare number as that number, exactly; as text it would give 15 of its digits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, Text, cast, func, literal, or_, select, type_coerce

from potato.schemes import Answer
from potato.store.settling import State
from potato.store.tables import adjudications, assignments, imports, items, users
from potato.store.tables import annotations as answers_

_STREAMED = {"yield_per": 2_000}
_REMEMBERED = 50_000
_SHORT = 200
"""JSON of up to so many characters is worth remembering: it is likely to come again."""


class Said(NamedTuple):
    """One answer to one question."""

    annotator: str
    scheme: str
    value: Answer
    at: str
    origin: str
    suggestion: dict[str, Any] | None
    elapsed_ms: int | None
    shown: Any = None
    """How the question stood, where that differs from person to person."""


class Noted(NamedTuple):
    """That an annotator has skipped the item, or flagged it, and why; None where they did not. `extra`: that they
    answered when enough others had."""

    annotator: str
    skipped: str | None
    flagged: str | None
    at: str
    extra: bool


class AnsweredItem(NamedTuple):
    """An item with all that was said of it, by annotator's name, then scheme, and what was decided, by adjudicator.

    `text` is empty unless asked for.
    """

    seq: int
    id: str
    text: str
    answers: list[Said]
    notes: list[Noted]
    decided: list[Said]


def has_unfinished_import(conn: Connection) -> bool:
    """Whether an import has happened whose answers are not all applied yet."""
    return conn.execute(select(imports.c.id).where(imports.c.state == "ready").limit(1)).first() is not None


def answered_items(conn: Connection, *, text: bool) -> Iterator[AnsweredItem]:
    """Every item that somebody has answered, skipped or decided, in the order of the data files."""
    names = {row[0]: row[1] for row in conn.execute(select(users.c.id, users.c.name))}
    unread = type_coerce if conn.dialect.name == "sqlite" else cast
    answers = _by_item(conn.execute(_answers(unread, text=text), execution_options=_STREAMED))
    notes = _by_item(conn.execute(_notes(text=text), execution_options=_STREAMED))
    decided = _by_item(conn.execute(_decisions(unread, text=text), execution_options=_STREAMED))
    parse = _Parser()
    merged = merge(_numbered(answers, 0), _numbered(notes, 1), _numbered(decided, 2), key=itemgetter(0, 1))
    for _, parts in groupby(merged, key=itemgetter(0)):
        yield _item(list(parts), names, parse)


def _item(parts: list[Any], names: dict[int, str], parse: _Parser) -> AnsweredItem:
    said: list[Said] = []
    noted: list[Noted] = []
    decided: list[Said] = []
    for _, kind, rows in parts:
        if kind == 0:
            said = sorted((_said(row, names, parse) for row in rows), key=itemgetter(0, 1))
        elif kind == 1:
            noted = sorted((_noted(row, names) for row in rows), key=itemgetter(0))
        else:
            decided = [Said(row[3], row[4], parse(row[5]), row[6], "none", None, None) for row in rows]
    seq, item, text = parts[0][2][0][:3]
    return AnsweredItem(seq, item, text, said, noted, sorted(decided, key=itemgetter(0, 1)))


def _noted(row: Any, names: dict[int, str]) -> Noted:
    _, _, _, user, state, reason, flag, at, extra = row
    return Noted(names[user], (reason or "") if state == State.SKIPPED.value else None, flag, at, bool(extra))


def _numbered(groups: Iterator[tuple[int, list[Any]]], kind: int) -> Iterator[tuple[int, int, list[Any]]]:
    return ((seq, kind, rows) for seq, rows in groups)


def _said(row: Any, names: dict[int, str], parse: _Parser) -> Said:
    _, _, _, user, scheme, value, at, origin, suggestion, elapsed_ms, stood = row
    suggested = None if suggestion is None else parse(suggestion)
    return Said(names[user], scheme, parse(value), at, origin, suggested, elapsed_ms, stood and parse(stood))


def _by_item(rows: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    for seq, group in groupby(rows, key=itemgetter(0)):
        yield seq, list(group)


_decode = json.JSONDecoder(parse_constant=lambda _: None).decode
"""NaN and infinities, which stores of earlier versions may hold, are null, as they are in any other."""


class _Parser:
    """JSON as the driver gives it → value; equal texts give one value, which nobody may change."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = {}

    def __call__(self, text: str | float) -> Any:
        if not isinstance(text, str):
            return text
        if text in self._known:
            return self._known[text]
        value = _decode(text)
        if len(text) <= _SHORT and len(self._known) < _REMEMBERED:
            self._known[text] = value
        return value


def _about(text: bool) -> tuple[Any, ...]:
    return (items.c.id, items.c.text if text else literal(""))


_Unread = Callable[[ColumnElement[Any], type[Text]], ColumnElement[str]]
"""How a JSON column is asked for so that SQLAlchemy does not parse it."""


def _answers(unread: _Unread, *, text: bool) -> Select[Any]:
    suggestion, stood = (
        func.nullif(unread(column, Text), "null") for column in (answers_.c.suggestion, answers_.c.shown)
    )
    columns = (answers_.c.user, answers_.c.scheme, unread(answers_.c.value, Text), answers_.c.at, answers_.c.origin)
    return (
        select(answers_.c.item, *_about(text), *columns, suggestion, answers_.c.elapsed_ms, stood)
        .join(items, items.c.seq == answers_.c.item)
        .order_by(answers_.c.item)
    )


def _decisions(unread: _Unread, *, text: bool) -> Select[Any]:
    made = adjudications.c
    return (
        select(made.item, *_about(text), made.adjudicator, made.scheme, unread(made.value, Text), made.at)
        .join(items, items.c.seq == made.item)
        .order_by(made.item)
    )


def _notes(*, text: bool) -> Select[Any]:
    met = assignments.c
    return (
        select(met.item, *_about(text), met.user, met.state, met.reason, met.flag, met.at, met.extra)
        .join(items, items.c.seq == met.item)
        .where(or_(met.state == State.SKIPPED.value, met.flag.is_not(None), met.extra))
        .order_by(assignments.c.item)
    )
