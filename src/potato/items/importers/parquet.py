"""The typed table that `export --format parquet` and `hf-datasets` write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from potato.items.exporters.base import package
from potato.items.importers.plain import COLUMN, OTHERS, PlainLine
from potato.items.problems import RowProblem
from potato.items.records import called

ROWS = 5_000


def read_parquet(path: Path) -> Iterator[PlainLine | RowProblem]:
    """The rows of a Parquet file in the plain form, streamed. Raises `NoPackage` without pyarrow."""
    parquet = package("pyarrow.parquet", f"reading {path.name}")
    errors = package("pyarrow", f"reading {path.name}").ArrowException
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(ROWS):
                for row in _rows(batch):
                    number += 1
                    yield _plain(path.name, number, row)
    except (errors, OSError) as error:
        yield RowProblem(path.name, None, f"it cannot be read as Parquet ({str(error)[:200]})")


def _rows(batch: Any) -> list[dict[str, Any] | None]:
    """The rows of `batch`; None for one with a time that is out of range, or finer than can be told."""
    try:
        return list(batch.to_pylist())
    except (ValueError, OverflowError):
        if batch.num_rows == 1:
            return [None]
        return [row for place in range(batch.num_rows) for row in _rows(batch.slice(place, 1))]


def _plain(file: str, number: int, row: dict[str, Any] | None) -> PlainLine | RowProblem:
    if row is None:
        return RowProblem(file, number, "this row has a value that cannot be read, like a time out of range")
    fields = {name: value for name, value in row.items() if not name.startswith(COLUMN) and value is not None}
    answers = {name[len(COLUMN) :]: value for name, value in row.items() if name.startswith(COLUMN)}
    try:
        others = json.loads(fields.pop(OTHERS, "{}"))
        if "details" in fields:
            fields["details"] = json.loads(fields["details"])
    except (ValueError, TypeError, RecursionError):
        return RowProblem(file, number, f"the columns {OTHERS} and details hold JSON; this row's do not")
    if not isinstance(others, dict):
        return RowProblem(file, number, f"the column {OTHERS} holds {called(others)}, not an object")
    if "at" in fields:
        fields["at"] = fields["at"].isoformat() if hasattr(fields["at"], "isoformat") else fields["at"]
    fields["annotations"] = {name: value for name, value in {**answers, **others}.items() if value is not None}
    return PlainLine(file, number, fields)
