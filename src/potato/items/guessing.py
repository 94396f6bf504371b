"""Which field of a data file is the id and which the text, guessed from its first rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.items.problems import RowProblem
from potato.items.records import read_records
from potato.project.models import ItemProperties

ROWS = 200
"""Rows that are looked at."""
IDS = ("id", "item_id", "_id", "key", "uuid", "uid")
TEXTS = ("text", "review", "sentence", "content", "body", "comment", "message", "document")


class NotGuessed(PotatoError):
    """A data file does not show which field is which."""

    code = "not_guessed"
    status = 422


def guess_fields(path: Path) -> ItemProperties:
    """The fields of `path` that hold ids and texts: the usual names, else what looks like it.

    Raises `NotGuessed` for a file that cannot be read, has no rows, or shows neither.
    """
    rows = _rows(path)
    names = list(rows[0])
    text_key = _usual(names, TEXTS)
    others = [name for name in names if name != text_key]
    id_key = _usual(others, IDS) or next((name for name in others if _tells_apart(rows, name)), None)
    text_key = text_key or _longest(rows, names, id_key)
    if id_key is None or text_key is None:
        raise _not_guessed(path, names, "ids (each row its own)" if id_key is None else "texts")
    return ItemProperties(id_key=id_key, text_key=text_key)


def guess_pair(path: Path) -> tuple[str, str]:
    """The two fields of `path` whose texts are to be compared: their names end in `a` and `b`, or in `1` and `2`.

    Raises `NotGuessed`.
    """
    names = list(_rows(path)[0])
    by_name = {name.lower(): name for name in reversed(names)}
    for first, second in (("a", "b"), ("1", "2")):
        for name, spelled in by_name.items():
            if name.endswith(first) and (other := by_name.get(name.removesuffix(first) + second)) is not None:
                return spelled, other
    raise NotGuessed(
        f"no two fields of {path.name} look like a pair; its fields are {_listed(names)}",
        hint="call them text_a and text_b, say; or name them as field_a and field_b in the project file",
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for record in islice(read_records(path, path.name), ROWS):
        if isinstance(record, RowProblem):
            raise NotGuessed(str(record), hint=_SPREADSHEET if path.suffix.lower() in _SPREADSHEETS else None)
        rows.append(record.fields)
    if not rows:
        raise NotGuessed(f"{path.name} has no rows")
    return rows


_SPREADSHEETS = (".xls", ".xlsx", ".ods", ".numbers")
_SPREADSHEET = "open it in the spreadsheet program, and save it as CSV (UTF-8)"


def _not_guessed(path: Path, names: Sequence[str], what: str) -> NotGuessed:
    hint = "name them with --id-key and --text-key"
    if what != "texts":
        hint = (
            "add a column in which each row has a number or name of its own; or, where there is one, name it: --id-key"
        )
    return NotGuessed(f"no field of {path.name} looks like {what}; its fields are {_listed(names)}", hint=hint)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))[:300]


def _usual(names: Sequence[str], usual: Sequence[str]) -> str | None:
    by_name = {name.lower(): name for name in reversed(names)}
    return next((by_name[name] for name in usual if name in by_name), None)


def _tells_apart(rows: Sequence[dict[str, Any]], name: str) -> bool:
    """Whether the field has another short value in each row."""
    values = [row.get(name) for row in rows]
    if not all(isinstance(value, (str, int)) and not isinstance(value, bool) for value in values):
        return False
    written = {str(value) for value in values}
    return len(written) == len(rows) and all(value.strip() and len(value) <= 100 for value in written)


def _longest(rows: Sequence[dict[str, Any]], names: Sequence[str], id_key: str | None) -> str | None:
    """The field with the longest strings."""
    lengths = {
        name: sum(len(value) for row in rows if isinstance(value := row.get(name), str))
        for name in names
        if name != id_key
    }
    best = max(lengths, key=lambda name: lengths[name], default=None)
    return best if best is not None and lengths[best] else None
