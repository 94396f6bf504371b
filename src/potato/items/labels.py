"""The plain form of labels: one line for each item and annotator.

`{"id": "1_1", "annotator": "rater-03", "annotations": {"sentiment": "positive"}, "at": "2026-11-29T14:15:00Z"}`, and
where there is something to say `skipped` (why, may be empty) and `details` (by scheme `origin`, `suggestion`,
`elapsed_ms`). The table form has a column for each scheme, `annotations.NAME`, and no details.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from potato.items.opening import kind_of
from potato.items.problems import RowProblem
from potato.items.records import called, read_records
from potato.schemes import Answer, InvalidAnswer, Kind, Scheme
from potato.store.clock import from_text, to_text
from potato.store.users import InvalidName, check_name

KEYS = {"id", "annotator", "annotations", "at", "skipped", "details", "pre_labels", "text"}
ORIGINS = ("none", "accepted", "changed")
COLUMN = "annotations."


@dataclass(frozen=True)
class LabelLine:
    """One line, parsed. `refused` are answers that the project does not take: scheme → (the answer, why).

    `annotator` is None on a line that holds a model's suggestions only.
    """

    line: int
    item: str
    annotator: str | None
    answers: dict[str, Answer] = field(default_factory=dict)
    refused: dict[str, tuple[Any, str]] = field(default_factory=dict)
    at: str | None = None
    skipped: str | None = None
    details: dict[str, dict[str, Any]] = field(default_factory=dict)


class _Wrong(Exception):
    pass


class LabelReader:
    """The lines of a file of labels and what is wrong in it, in order, streamed."""

    def __init__(self, path: Path, schemes: Mapping[str, Scheme]) -> None:
        self._path = path
        self._schemes = schemes
        self._table = kind_of(path) in ("csv", "tsv")

    def __iter__(self) -> Iterator[LabelLine | RowProblem]:
        for record in read_records(self._path, self._path.name, exact="id"):
            if isinstance(record, RowProblem):
                yield record
                continue
            fields = self._from_table(record.fields) if self._table else record.fields
            try:
                yield self._line(record.line, fields)
            except (_Wrong, InvalidName) as wrong:
                yield RowProblem(self._path.name, record.line, str(wrong))

    def _line(self, number: int, fields: Mapping[str, Any]) -> LabelLine:
        unknown = next((name for name in fields if name not in KEYS), None)
        if unknown is not None:
            raise _Wrong(f"unknown key {unknown!r:.80}; a line has id, annotator, annotations and at")
        item = _item(fields.get("id"))
        if "annotator" not in fields and "pre_labels" in fields:
            return LabelLine(number, item, None)
        line = LabelLine(
            number,
            item,
            _annotator(fields.get("annotator")),
            at=_at(fields.get("at")),
            skipped=_skipped(fields.get("skipped")),
            details=_details(fields.get("details")),
        )
        self._parse(line, fields.get("annotations"))
        return line

    def _parse(self, line: LabelLine, annotations: Any) -> None:
        if not isinstance(annotations, dict):
            has = "there are no annotations" if annotations is None else f"annotations is {called(annotations)}"
            raise _Wrong(f"{has}; they are an object, scheme → answer")
        for name, raw in annotations.items():
            if raw is None:
                continue  # no answer
            scheme = self._schemes.get(name)
            if scheme is None:
                line.refused[name] = (raw, f"the project has no scheme {name!r:.80}")
                continue
            try:
                line.answers[name] = scheme.parse(raw)
            except InvalidAnswer as error:
                line.refused[name] = (raw, error.message)

    def _from_table(self, row: Mapping[str, str]) -> dict[str, Any]:
        fields: dict[str, Any] = {name: value for name, value in row.items() if not name.startswith(COLUMN)}
        cells = {name[len(COLUMN) :]: cell for name, cell in row.items() if name.startswith(COLUMN)}
        fields["annotations"] = {name: self._cell(name, cell) for name, cell in cells.items() if cell}
        if not fields.get("at"):
            fields.pop("at", None)
        if not fields.get("skipped"):
            fields.pop("skipped", None)
        elif fields["skipped"] == "yes":
            fields["skipped"] = ""
        return fields

    def _cell(self, name: str, cell: str) -> Any:
        scheme = self._schemes.get(name)
        if scheme is not None and scheme.kind in (Kind.NOMINAL, Kind.PAIRWISE, Kind.TEXT):
            return cell
        try:
            return json.loads(cell)
        except ValueError:
            return cell


def _item(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise _Wrong("there is no id" if value in (None, "") else f"the id is {called(value)}")
    return value


def _annotator(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _Wrong("there is no annotator" if value is None else f"the annotator is {called(value)}")
    return check_name(value)


def _at(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return to_text(from_text(value))
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise _Wrong(f"at is {value!r:.60}; it is a time with its zone, like 2026-11-29T14:15:00Z") from None


def _skipped(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise _Wrong(f"skipped is {called(value)}; it is a text, the reason")


def _details(value: Any) -> dict[str, dict[str, Any]]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(detail, dict) for detail in value.values()):
        raise _Wrong("details is an object, scheme → object")
    for name, detail in value.items():
        _check_detail(name, detail)
    return value


def _check_detail(name: str, detail: Mapping[str, Any]) -> None:
    unknown = set(detail) - {"origin", "suggestion", "elapsed_ms"}
    elapsed, suggestion = detail.get("elapsed_ms"), detail.get("suggestion")
    if unknown:
        raise _Wrong(f"details of {name!r:.80}: unknown key {sorted(unknown)[0]!r:.80}")
    if detail.get("origin", "none") not in ORIGINS:
        raise _Wrong(f"details of {name!r:.80}: origin is one of {', '.join(ORIGINS)}")
    if suggestion is not None and not isinstance(suggestion, dict):
        raise _Wrong(f"details of {name!r:.80}: suggestion is {called(suggestion)}, not an object")
    if elapsed is not None and (not isinstance(elapsed, int) or isinstance(elapsed, bool) or elapsed < 0):
        raise _Wrong(f"details of {name!r:.80}: elapsed_ms is a whole number, 0 or more")
