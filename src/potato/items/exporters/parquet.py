"""`parquet`: the table with typed columns, for pandas, polars, DuckDB and the like."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, BinaryIO

from potato.items.exporters.base import FileExporter, Labels, Line, Options, package
from potato.items.importers.plain import COLUMN, OTHERS
from potato.schemes import Answer, Kind

ROWS = 20_000
"""Rows that are held at once, and that make one group of rows in the file."""

_EXACT = 2**53
"""Whole numbers up to this one are exact as floating point."""
_WHOLE = 2**63


class Parquet(FileExporter):
    """Columns are typed by the scheme's kind; an answer that does not fit its column stands in `annotations`, JSON."""

    keeps = (
        "answers, times, skips, flags, adjudicated answers and what was suggested, and the item's text beside them; "
        "not the live suggestions"
    )
    flags = True
    needs: str | None = "pyarrow"

    def write(self, lines: Iterable[Line], file: BinaryIO, options: Options) -> None:
        pa, parquet = package("pyarrow", "this format"), package("pyarrow.parquet", "this format")
        table = _Columns(pa, options)
        with parquet.ParquetWriter(file, table.schema, compression="zstd") as writer:
            for piece in _pieces(line for line in lines if isinstance(line, Labels)):
                writer.write_batch(table.batch(piece), row_group_size=ROWS)


def _pieces(lines: Iterator[Labels]) -> Iterator[list[Labels]]:
    while piece := list(islice(lines, ROWS)):
        yield piece


class _Columns:
    """The columns of one export."""

    def __init__(self, pa: Any, options: Options) -> None:
        self._pa = pa
        text = pa.string()
        self._kinds = {name: options.known[name].kind if name in options.known else None for name in options.schemes}
        fixed = [("id", text), ("annotator", text), ("adjudicator", text), ("at", pa.timestamp("ms", tz="UTC"))]
        answers = [(COLUMN + name, _type(pa, kind)) for name, kind in self._kinds.items() if kind in _FITS]
        rest = [("skipped", text), ("flagged", text), (OTHERS, text), ("details", text), ("text", text)]
        self.schema = pa.schema([*fixed, *answers, *rest])

    def batch(self, lines: list[Labels]) -> Any:
        """Those lines as columns."""
        columns: dict[str, list[Any]] = {name: [] for name in self.schema.names}
        for line in lines:
            self._add(columns, line)
        at = self._pa.array(columns.pop("at")).cast(self.schema.field("at").type)
        arrays = {name: self._pa.array(values, self.schema.field(name).type) for name, values in columns.items()}
        arrays["at"] = at
        return self._pa.RecordBatch.from_arrays([arrays[name] for name in self.schema.names], schema=self.schema)

    def _add(self, columns: dict[str, list[Any]], line: Labels) -> None:
        others = {}
        for name, kind in self._kinds.items():
            answer = line.answers.get(name)
            fits = answer is not None and kind in _FITS and _FITS[kind](answer)
            if answer is not None and not fits:
                others[name] = answer
            if kind in _FITS:
                columns[COLUMN + name].append(answer if fits else None)
        columns["id"].append(_sound(line.item))
        columns["annotator"].append(line.annotator)
        columns["adjudicator"].append(line.adjudicator)
        columns["at"].append(line.at)
        columns["skipped"].append(None if line.skipped is None else _sound(line.skipped))
        columns["flagged"].append(None if line.flagged is None else _sound(line.flagged))
        columns[OTHERS].append(json.dumps(others) if others else None)
        columns["details"].append(json.dumps(line.details) if line.details else None)
        columns["text"].append(_sound(line.text))


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
