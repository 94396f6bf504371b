"""The records of a data file, streamed: a mapping of fields and the line where it begins."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from potato.items.opening import Unreadable, kind_of, open_text
from potato.items.problems import RowProblem

MAX_RECORD = 16 * 1024 * 1024
"""Characters that one record may have. Files may be as large as they like: they are streamed."""
_PIECE = 1 << 20
_TAIL = 16  # an error this close to the end of a piece may come from the cut

_SPACE = re.compile(r"[ \t\r\n]*")

csv.field_size_limit(MAX_RECORD)


class Record(NamedTuple):
    """One record as it stands in the file."""

    line: int
    fields: dict[str, Any]


class _DuplicateField(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _DuplicateField(f"the field {twice!r:.80} stands twice in one object")
    return fields


_PLAIN = json.JSONDecoder(parse_constant=lambda _: None, object_pairs_hook=_object)
_SPELLED = json.JSONDecoder(parse_float=str, parse_constant=lambda _: None, object_pairs_hook=_object)


@dataclass(frozen=True)
class _Decoder:
    """Decodes JSON values; the number in the field `exact` stays as it is written: an id of 1.0 is not 1."""

    exact: str

    def __call__(self, text: str, start: int) -> tuple[Any, int]:
        value, end = _PLAIN.raw_decode(text, start)
        if isinstance(value, dict) and isinstance(value.get(self.exact), float):
            value[self.exact] = _SPELLED.raw_decode(text, start)[0][self.exact]
        return value, end


_Found = Iterator[tuple[int, "dict[str, Any] | str"]]
"""Line, and the record or what is wrong there."""


def read_records(path: Path, name: str, exact: str = "") -> Iterator[Record | RowProblem]:
    """The records of `path` and what is wrong in it, in order. `name` is what problems call the file.

    A number with a fraction in the field `exact` is given as the text that stands there.
    A problem of one record does not end the reading where the next record can be found.
    """
    decode = _Decoder(exact)
    readers: dict[str, Callable[[TextIO], _Found]] = {
        "json": partial(_json, decode),
        "jsonl": partial(_json_lines, decode),
        "csv": partial(_table, ","),
        "tsv": partial(_table, "\t"),
    }
    kind = kind_of(path)
    if not kind:
        yield RowProblem(name, None, "its name must end in .json, .jsonl, .csv or .tsv (each also with .gz)")
        return
    try:
        with open_text(path) as text:
            for line, found in readers[kind](text):
                yield RowProblem(name, line, found) if isinstance(found, str) else Record(line, found)
    except Unreadable as error:
        yield RowProblem(name, error.line, error.reason)


def _json_lines(decode: _Decoder, text: TextIO) -> _Found:
    for number, line in enumerate(iter(partial(text.readline, MAX_RECORD + 1), ""), 1):
        if len(line) > MAX_RECORD:
            raise Unreadable(_too_long(), number)
        if not line.isspace():
            yield number, _decode_line(decode, line)


def _decode_line(decode: _Decoder, line: str) -> dict[str, Any] | str:
    start = 0 if line[0] == "{" else len(line) - len(line.lstrip(" \t\r"))
    try:
        value, end = decode(line, start)
    except json.JSONDecodeError as error:
        return _syntax(error.msg, error.pos + 1)
    except (ValueError, RecursionError) as error:
        return _not_taken(error)
    if end < len(line) and line[end:].strip(" \t\r\n"):
        return _syntax("one object a line is expected, and more follows", end + 1)
    return value if type(value) is dict else _as_record(value)


def _json(decode: _Decoder, text: TextIO) -> _Found:
    """A list of objects, or objects one after another, read through a window that is moved along."""
    window = _Window(decode, text)
    first = window.peek()
    if first != "[":
        yield from _concatenated(window)
        return
    window.take("[")
    if window.peek() == "]":
        window.take("]")
    else:
        yield from _listed(window)
    if window.peek():
        raise Unreadable("something follows after the end of the list", window.line)


def _listed(window: _Window) -> _Found:
    while True:
        yield window.line, window.value()
        mark = window.peek()
        if mark == "]":
            window.take("]")
            return
        if mark != ",":
            raise Unreadable(window.expected("a comma or the list's closing ]"), window.line)
        window.take(",")
        window.peek()


def _concatenated(window: _Window) -> _Found:
    while window.peek():
        yield window.line, window.value()


class _Window:
    """A moving view of a JSON text: `line` is the line that the next character stands on."""

    def __init__(self, decode: _Decoder, text: TextIO) -> None:
        self._decode = decode
        self._text = text
        self._buffer = ""
        self._at = 0
        self._base = 0  # where in the text the buffer begins
        self._line_start = 0  # where in the text the line begins
        self.line = 1

    def peek(self) -> str:
        """The next character that is not white space; empty at the end."""
        while True:
            match = _SPACE.match(self._buffer, self._at)
            self._advance(match.end() if match else self._at)
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._more():
                return ""

    def take(self, _mark: str) -> None:
        """Step over the character that `peek` gave."""
        self._at += 1

    def value(self) -> dict[str, Any] | str:
        """The record that begins here, or what is wrong with it. Raises `Unreadable` where its end cannot be found."""
        while True:
            try:
                value, end = self._decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                reason, line = self._place(error)  # before the buffer moves on
                if self._is_cut(error) and self._more():
                    continue
                raise Unreadable(reason, line) from error
            except (ValueError, RecursionError) as error:
                raise Unreadable(_not_taken(error), self.line) from error
            if end == len(self._buffer) and not isinstance(value, dict) and self._more():
                continue  # a number at the end of a piece may go on in the next
            self._advance(end)
            return _as_record(value)

    def expected(self, what: str) -> str:
        """A sentence for a character that should be another."""
        found = repr(self._buffer[self._at]) if self._at < len(self._buffer) else "the end of the file"
        return f"{what} is expected, not {found}"

    def _is_cut(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - _TAIL

    def _place(self, error: json.JSONDecodeError) -> tuple[str, int]:
        line = self.line + self._buffer.count("\n", self._at, error.pos)
        newline = self._buffer.rfind("\n", self._at, error.pos)
        start = self._base + newline + 1 if newline >= 0 else self._line_start
        return _syntax(error.msg, self._base + error.pos - start + 1), line

    def _advance(self, end: int) -> None:
        newlines = self._buffer.count("\n", self._at, end)
        if newlines:
            self.line += newlines
            self._line_start = self._base + self._buffer.rfind("\n", self._at, end) + 1
        self._at = end

    def _more(self) -> bool:
        kept = len(self._buffer) - self._at
        if kept > MAX_RECORD:
            raise Unreadable(_too_long(), self.line)
        piece = self._text.read(max(_PIECE, kept))
        self._buffer = self._buffer[self._at :] + piece
        self._base += self._at
        self._at = 0
        return bool(piece)


def _table(delimiter: str, text: TextIO) -> _Found:
    first, line = _first_with_words(text)
    if not first:
        return
    if delimiter == "," and "," not in first:
        delimiter = next((mark for mark in ";\t" if mark in first), ",")  # as spreadsheets write it in some countries
    rows = csv.reader(_from(first, text), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    blank = line - 1
    try:
        for row in rows:
            if header is None:
                header = _header(row, line)
            elif row:
                yield line, _table_record(header, row)
            line = blank + rows.line_num + 1
    except csv.Error as error:
        raise Unreadable(_csv_error(str(error)), line) from error


def _from(first: str, text: TextIO) -> Iterator[str]:
    yield first
    yield from text


def _first_with_words(text: TextIO) -> tuple[str, int]:
    """The first line that is not blank, and its number; an empty text where there is none."""
    for number, line in enumerate(iter(partial(text.readline, MAX_RECORD), ""), 1):
        if line.strip():
            return line, number
    return "", 0


def _header(row: list[str], line: int) -> list[str]:
    twice = sorted({name for name in row if row.count(name) > 1})
    if twice:
        raise Unreadable(f"two columns are called {twice[0]!r:.80}", line)
    return row


def _table_record(header: list[str], row: list[str]) -> dict[str, Any] | str:
    if len(row) != len(header):
        return f"this row has {len(row)} fields, the header has {len(header)}"
    return dict(zip(header, row, strict=True))


def _csv_error(message: str) -> str:
    if "field larger" in message:
        return _too_long()
    if "unexpected end" in message:
        return "a field that begins with a quotation mark here does not end"
    if "expected after" in message:
        return "after a closing quotation mark comes more text; a quotation mark inside a quoted field is doubled"
    return f"this is not a table row: {message}"


def _as_record(value: Any) -> dict[str, Any] | str:
    if isinstance(value, dict):
        return value
    return f"each record is an object {{…}}, not {called(value)}"


def called(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    for kind, name in ((str, "a text"), (list, "a list"), (dict, "an object")):
        if isinstance(value, kind):
            return name
    return "a number"


def _syntax(message: str, column: int) -> str:
    if message.startswith("Unterminated string"):
        return f"column {column}: the text that begins here does not end on its line; write a line break in it as \\n"
    if message.startswith("Invalid control character"):
        return f"column {column}: a raw line break or control character inside a text; write a line break as \\n"
    return f"column {column}: this is not JSON: {message[:1].lower()}{message[1:]}"


def _not_taken(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "this is nested too deeply"
    if isinstance(error, _DuplicateField):
        return str(error)
    return "a number has too many digits"


def _too_long() -> str:
    return f"a record is longer than {MAX_RECORD // (1024 * 1024)} million characters, the most that one may have"
