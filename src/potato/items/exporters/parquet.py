"""`parquet`: the table with typed columns, for pandas, polars, DuckDB and the like."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, BinaryIO

from potato.items.exporters.base import FileExporter, Labels, Line, Options, package
from potato.items.importers.plain import COLUMN, OTHERS
from potato.schemes import Answer, Kind

ROWS = 20_000
"""Rows that are held at once, and that make one group of rows in the file."""

_FIXED = ("id", "annotator", "adjudicator", "at", "skipped", "flagged", "extra", OTHERS, "details", "text")

_EXACT = 2**53
"""Whole numbers up to this one are exact as floating point."""
_WHOLE = 2**63


class Parquet(FileExporter):
    """Columns are typed by the scheme's kind; an answer that does not fit its column stands in `annotations`, JSON."""

    keeps = (
        "answers, times, skips, flags, adjudicated answers and what was suggested, and the item's text beside them; "
        "not the live suggestions"
    )
    needs: str | None = "pyarrow"

    def write(self, lines: Iterable[Line], file: BinaryIO, options: Options) -> None:
        pa, parquet = package("pyarrow", "this format"), package("pyarrow.parquet", "this format")
        table = _Columns(pa, options)
        labels = (line for line in lines if isinstance(line, Labels))
        with parquet.ParquetWriter(file, table.schema, compression="zstd") as writer:
            while table.take(islice(labels, ROWS)):
                writer.write_batch(table.batch(), row_group_size=ROWS)


class _Columns:
    """The columns of one export, filled line by line: values that lie in columns are light, held lines are not."""

    def __init__(self, pa: Any, options: Options) -> None:
        self._pa = pa
        text = pa.string()
        self._kinds = {name: options.known[name].kind if name in options.known else None for name in options.schemes}
        fixed = [("id", text), ("annotator", text), ("adjudicator", text), ("at", pa.timestamp("ms", tz="UTC"))]
        answers = [(COLUMN + name, _type(pa, kind)) for name, kind in self._kinds.items() if kind in _FITS]
        rest = [
            ("skipped", text),
            ("flagged", text),
            ("extra", pa.bool_()),
            (OTHERS, text),
            ("details", text),
            ("text", text),
        ]
        self.schema = pa.schema([*fixed, *answers, *rest])
        self._columns: dict[str, list[Any]] = {name: [] for name in self.schema.names}
        self._untyped = [name for name, kind in self._kinds.items() if kind not in _FITS]
        self._typed = [
            (name, _FITS[kind], self._columns[COLUMN + name].append)
            for name, kind in self._kinds.items()
            if kind in _FITS
        ]
        self._encode = json.JSONEncoder(check_circular=False).encode

    def take(self, lines: Iterable[Labels]) -> int:
        """Add those lines; how many they were."""
        adds = [self._columns[name].append for name in _FIXED]
        for line in lines:
            for add, value in zip(adds, self._fixed(line), strict=True):
                add(value)
        return len(self._columns["id"])

    def _fixed(self, line: Labels) -> tuple[str | bool | None, ...]:
        """The values of the columns `_FIXED`, once the answers are in their own."""
        others = self._take_answers(line.answers)
        return (
            _sound(line.item),
            line.annotator,
            line.adjudicator,
            line.at,
            None if line.skipped is None else _sound(line.skipped),
            None if line.flagged is None else _sound(line.flagged),
            line.extra,
            self._encode(others) if others else None,
            self._encode(line.details) if line.details else None,
            _sound(line.text),
        )

    def _take_answers(self, answers: dict[str, Answer]) -> dict[str, Answer]:
        """Put each answer into its column; the rest, which has none or does not fit it, comes back."""
        others = {name: answers[name] for name in self._untyped if name in answers}
        for name, fits, add in self._typed:
            answer = answers.get(name)
            if answer is not None and not fits(answer):
                others[name] = answer
                answer = None
            add(answer)
        return others

    def batch(self) -> Any:
        """The columns as they stand; the next lines begin new ones."""
        arrays = [self._array(field) for field in self.schema]
        for column in self._columns.values():
            column.clear()
        return self._pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _array(self, field: Any) -> Any:
        values = self._columns[field.name]
        return self._pa.array(values).cast(field.type) if field.name == "at" else self._pa.array(values, field.type)


def _sound(text: str) -> str:
    """`text` without half surrogate pairs, which no column of text can hold."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _is_text(answer: Answer) -> bool:
    return isinstance(answer, str) and _sound(answer) == answer


def _is_whole(answer: Answer) -> bool:
    return type(answer) is int and -_WHOLE <= answer < _WHOLE


def _is_number(answer: Answer) -> bool:
    return type(answer) is float or (type(answer) is int and -_EXACT <= answer <= _EXACT)


def _is_texts(answer: Answer) -> bool:
    return isinstance(answer, list) and all(map(_is_text, answer))


def _are_spans(answer: Answer) -> bool:
    return isinstance(answer, list) and all(_is_span(span) for span in answer)


def _is_span(span: Any) -> bool:
    if not isinstance(span, dict) or set(span) != {"start", "end", "label", "text"}:
        return False
    return all(_is_whole(span[name]) for name in ("start", "end")) and all(_is_text(span[n]) for n in ("label", "text"))


_FITS: dict[Kind | None, Callable[[Answer], bool]] = {
    Kind.NOMINAL: _is_text,
    Kind.PAIRWISE: _is_text,
    Kind.TEXT: _is_text,
    Kind.MULTILABEL: _is_texts,
    Kind.ORDINAL: _is_whole,
    Kind.CONTINUOUS: _is_number,
    Kind.SPAN: _are_spans,
}


def _type(pa: Any, kind: Kind | None) -> Any:
    if kind is Kind.MULTILABEL:
        return pa.list_(pa.string())
    if kind is Kind.SPAN:
        fields = [("start", pa.int64()), ("end", pa.int64()), ("label", pa.string()), ("text", pa.string())]
        return pa.list_(pa.struct(fields))
    return {Kind.ORDINAL: pa.int64(), Kind.CONTINUOUS: pa.float64()}.get(kind, pa.string()) if kind else pa.string()
