"""The plain form, from JSON lines, JSON, or a table that `export` wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from potato.items.opening import kind_of
from potato.items.problems import RowProblem
from potato.items.records import read_records
from potato.schemes import Kind, Scheme

COLUMN = "annotations."
OTHERS = "annotations"
"""In a typed table: what does not fit its column, as JSON."""
YES = "yes"
"""In a table: that an item was skipped, or flagged, without a reason."""


Texts = Callable[[list[str]], Mapping[str, str]]
"""Ids of items → their texts, for those that there are."""


class PlainLine(NamedTuple):
    """One line of the plain form, and where it stands."""

    file: str
    line: int
    fields: dict[str, Any]


def read_file(path: Path, schemes: Mapping[str, Scheme]) -> Iterator[PlainLine | RowProblem]:
    """The lines of a text file, and what is wrong in it; a line of a table is turned into the plain form."""
    table = kind_of(path) in ("csv", "tsv")
    for record in read_records(path, path.name, exact="id"):
        if isinstance(record, RowProblem):
            yield record
        else:
            fields = _from_cells(record.fields, schemes) if table else record.fields
            yield PlainLine(path.name, record.line, fields)


def _from_cells(row: Mapping[str, str], schemes: Mapping[str, Scheme]) -> dict[str, Any]:
    fields: dict[str, Any] = {name: value for name, value in row.items() if not name.startswith(COLUMN)}
    cells = {name[len(COLUMN) :]: cell for name, cell in row.items() if name.startswith(COLUMN)}
    fields["annotations"] = {name: _answer(schemes.get(name), cell) for name, cell in cells.items() if cell}
    for name in ("at", "skipped", "flagged", "extra", "adjudicator"):
        if not fields.get(name):
            fields.pop(name, None)
    for name in ("skipped", "flagged"):
        if name in fields:
            fields[name] = _reason(fields[name])
    if fields.get("extra") == YES:
        fields["extra"] = True
    if "adjudicator" in fields and not fields.get("annotator"):
        fields.pop("annotator", None)
    return fields


def _reason(cell: str) -> str:
    """The reason that a cell of a table gives, as `exporters.tables` writes it."""
    if cell == YES:
        return ""
    try:
        reason = json.loads(cell) if cell.startswith('"') else cell
    except (ValueError, RecursionError):  # somebody's own words, which begin with a quotation
        return cell
    return str(reason)


def _answer(scheme: Scheme | None, cell: str) -> Any:
    if scheme is not None and scheme.kind in (Kind.NOMINAL, Kind.PAIRWISE, Kind.TEXT):
        return cell
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return cell
