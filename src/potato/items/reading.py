"""From the records of a data file to typed rows: which field is the id, the text, an image, a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from potato.items.problems import RowProblem
from potato.items.records import Record, called, read_records
from potato.project.models import ItemProperties

MAX_ID = 500


class Row(NamedTuple):
    """An item as a data file has it. `fields` are the record's other fields; `text` is empty only beside media."""

    id: str
    text: str
    image: str | None
    audio: str | None
    fields: dict[str, Any]
    source: str
    line: int


def read_rows(
    path: Path, name: str, properties: ItemProperties, shown: Sequence[str] = ()
) -> Iterator[Row | RowProblem]:
    """The rows of `path` and what is wrong in it, in order, streamed. `name` is what problems call the file.

    `shown` are the fields that questions show, each of which must hold a text.
    """
    row = _Rows(name, properties, shown)
    for record in read_records(path, name, exact=properties.id_key):
        yield record if isinstance(record, RowProblem) else row.of(record)


class _Bad(Exception):
    def __init__(self, reason: str, *, unusable_text: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.unusable_text = unusable_text


class _Rows:
    """Makes rows of one file's records."""

    def __init__(self, name: str, properties: ItemProperties, shown: Sequence[str]) -> None:
        self._name = name
        self._shown = shown
        self._keys = properties
        self._media = properties.image_key is not None or properties.audio_key is not None
        named = (properties.id_key, properties.text_key, properties.image_key, properties.audio_key)
        self._named = [key for key in named if key is not None]

    def of(self, record: Record) -> Row | RowProblem:
        line, fields = record
        keys = self._keys
        try:
            item = _id(fields, keys.id_key)
            image = _medium(fields, keys.image_key) if self._media else None
            audio = _medium(fields, keys.audio_key) if self._media else None
            text = _text(fields, keys.text_key, has_media=image is not None or audio is not None)
            for key in self._shown:
                _text(fields, key, has_media=False)
        except _Bad as bad:
            return RowProblem(self._name, line, bad.reason, bad.unusable_text)
        for key in self._named:
            fields.pop(key, None)
        return Row(item, text, image, audio, fields, self._name, line)


def _id(fields: dict[str, Any], key: str) -> str:
    value = fields.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _Bad(_absent("id", key, fields) if value is None else f"the id (field {key!r}) is {called(value)}")
    if not value.strip():
        raise _Bad(f"the id (field {key!r}) is empty")
    if len(value) > MAX_ID:
        raise _Bad(f"the id (field {key!r}) has {len(value)} characters; {MAX_ID} are the most")
    return _storable(value, f"the id (field {key!r})")


def _text(fields: dict[str, Any], key: str, *, has_media: bool) -> str:
    value = fields.get(key)
    if has_media and (value is None or value == ""):
        return ""
    if value is None:
        raise _Bad(_absent("text", key, fields), unusable_text=True)
    if not isinstance(value, str):
        raise _Bad(f"the text (field {key!r}) is {called(value)}", unusable_text=True)
    if not value or value.isspace():
        raise _Bad(f"the text (field {key!r}) is empty", unusable_text=True)
    return _storable(value, f"the text (field {key!r})")


def _medium(fields: dict[str, Any], key: str | None) -> str | None:
    value = fields.get(key) if key is not None else None
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise _Bad(f"the field {key!r} is {called(value)}, not a file name or an address")
    return _storable(value, f"the field {key!r}")


def _storable(value: str, what: str) -> str:
    if "\0" in value:
        raise _Bad(f"{what} holds a zero character", unusable_text=what.startswith("the text"))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise _Bad(
                f"{what} holds half of a character pair (\\u{ord(value[error.start]):04x})",
                unusable_text=what.startswith("the text"),
            ) from None
    return value


def _absent(what: str, key: str, fields: dict[str, Any]) -> str:
    if key in fields:
        return f"the {what} (field {key!r}) is null"
    names = ", ".join(repr(name)[:60] for name in list(fields)[:8]) or "no fields at all"
    return f"there is no field {key!r} for the {what}; the row has {names}"
