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
    rows: list[dict[str, Any]] = []
    for record in islice(read_records(path, path.name), ROWS):
        if isinstance(record, RowProblem):
            raise NotGuessed(str(record))
        rows.append(record.fields)
    if not rows:
        raise NotGuessed(f"{path.name} has no rows")
    names = list(rows[0])
    id_key = _usual(names, IDS) or next((name for name in names if _tells_apart(rows, name)), None)
    text_key = _usual([name for name in names if name != id_key], TEXTS) or _longest(rows, names, id_key)
    if id_key is None or text_key is None:
        what = "ids (each row its own)" if id_key is None else "texts"
        raise NotGuessed(
            f"no field of {path.name} looks like {what}; its fields are {', '.join(map(repr, names))[:300]}",
            hint="name them with --id-key and --text-key",
        )
    return ItemProperties(id_key=id_key, text_key=text_key)


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
