"""Every answer out of the store, streamed, with a manifest of counts that equals the store."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import merge
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol, TextIO

from potato.errors import PotatoError
from potato.items.labels import COLUMN
from potato.items.pre_labels import PreLabels, pre_labels
from potato.project import Project
from potato.schemes import Answer, InvalidAnswer, Scheme
from potato.store import Database
from potato.store.annotations import ExportRow, count_by_scheme, count_skips, export_rows
from potato.training.contract.files import sync_folder, write_json

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet program takes for a formula."""


class ExportDiffers(PotatoError):
    """What was written is not what the store counts. The file was not put in place."""

    code = "export_differs"

    def __init__(self, written: Mapping[str, int], stored: Mapping[str, int]) -> None:
        super().__init__(f"the export would hold {dict(written)}, but the store has {dict(stored)}")


@dataclass(frozen=True)
class Labels:
    """What one annotator says of one item."""

    seq: int
    item: str
    text: str
    annotator: str
    answers: dict[str, Answer]
    at: str
    skipped: str | None
    details: dict[str, dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """The plain form."""
        line: dict[str, Any] = {
            "id": self.item,
            "annotator": self.annotator,
            "annotations": self.answers,
            "at": self.at,
        }
        if self.skipped is not None:
            line["skipped"] = self.skipped
        if self.details:
            line["details"] = self.details
        return line


class Exporter(Protocol):
    """Writes labels in one format; `keeps` says in a sentence what the format holds, `pre_labels` whether it takes
    models' suggestions among people's labels."""

    keeps: str
    pre_labels: bool

    def write(self, labels: Iterable[Labels | PreLabels], file: TextIO, options: Options) -> None:
        """Write all of `labels`, as they come."""


@dataclass(frozen=True)
class Options:
    """What an exporter may be asked for."""

    schemes: list[str]
    """The schemes that have answers, in the project's order; those that it no longer has last."""
    guard_formulas: bool = False
    """Write a `'` before a table's cells that a spreadsheet program would take for a formula."""


class JsonLines:
    """The plain form: a line for each item and annotator."""

    keeps = "everything: answers, times, skips, what was suggested, accepted or changed, and the live suggestions"
    pre_labels = True

    def write(self, labels: Iterable[Labels | PreLabels], file: TextIO, options: Options) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
        file.writelines(encode(each.as_json()) + "\n" for each in labels)


class Table:
    """A row for each item and annotator, and a column for each scheme. A list or a number is written as JSON."""

    keeps = "answers, times and skips, and the item's text beside them; not what was suggested"
    pre_labels = False

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def write(self, labels: Iterable[Labels | PreLabels], file: TextIO, options: Options) -> None:
        guard = _guarded if options.guard_formulas else str
        writer = csv.writer(file, delimiter=self._delimiter, lineterminator="\r\n")
        columns = [COLUMN + name for name in options.schemes]
        writer.writerow(guard(name) for name in ("id", "annotator", "at", "skipped", *columns, "text"))
        for each in (line for line in labels if isinstance(line, Labels)):
            answers = (_cell(each.answers.get(name)) for name in options.schemes)
            skipped = "" if each.skipped is None else each.skipped or "yes"
            writer.writerow(map(guard, (each.item, each.annotator, each.at, skipped, *answers, each.text)))


FORMATS: dict[str, Exporter] = {"jsonl": JsonLines(), "csv": Table(","), "tsv": Table("\t")}


@dataclass
class Manifest:
    """What an export holds."""

    lines: int = 0
    items: int = 0
    annotators: set[str] = field(default_factory=set)
    answers: Counter[str] = field(default_factory=Counter)
    skipped: int = 0
    pre_labels: Counter[str] = field(default_factory=Counter)
    no_longer_in_project: dict[str, Counter[str]] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The manifest as it is written beside the file."""
        return {
            "lines": self.lines,
            "items": self.items,
            "annotators": len(self.annotators),
            "annotations": sum(self.answers.values()),
            "by_scheme": dict(self.answers),
            "skipped": self.skipped,
            "pre_labels": dict(self.pre_labels),
            "no_longer_in_project": {name: dict(counts) for name, counts in self.no_longer_in_project.items()},
        }


def export_labels(
    project: Project, database: Database, file: TextIO, form: str = "jsonl", *, guard_formulas: bool = False
) -> Manifest:
    """Write every answer in the store to `file`, from one snapshot, and tell what it was.

    Raises `ExportDiffers` when that is not what the store counts.
    """
    manifest = Manifest()
    with database.read() as conn:
        stored = count_by_scheme(conn)
        skips = count_skips(conn)
        schemes = [*(name for name in project.schemes if name in stored), *sorted(set(stored) - set(project.schemes))]
        lines: Iterable[Labels | PreLabels] = _labels(export_rows(conn))
        if FORMATS[form].pre_labels:
            lines = merge(lines, pre_labels(conn, project), key=lambda line: line.seq)
        counted = _counted(lines, manifest, project.schemes)
        FORMATS[form].write(counted, file, Options(schemes, guard_formulas))
    if dict(manifest.answers) != stored or manifest.skipped != skips:
        raise ExportDiffers({**manifest.answers, "skipped": manifest.skipped}, {**stored, "skipped": skips})
    return manifest


def export_file(
    project: Project, database: Database, path: Path, form: str = "jsonl", *, guard_formulas: bool = False
) -> Manifest:
    """`export_labels` into a file that appears whole or not at all, with `<file>.manifest.json` beside it."""
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="") as file:
            manifest = export_labels(project, database, file, form, guard_formulas=guard_formulas)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    sync_folder(str(path.parent))
    write_json(f"{path}.manifest.json", {"format": form, **manifest.as_json()})
    return manifest


def _labels(rows: Iterator[ExportRow]) -> Iterator[Labels]:
    for (_, annotator), group in groupby(rows, key=lambda row: (row.seq, row.annotator)):
        parts = list(group)
        answered = [row for row in parts if row.scheme]
        yield Labels(
            seq=parts[0].seq,
            item=parts[0].item,
            text=parts[0].text,
            annotator=annotator,
            answers={row.scheme: row.value for row in answered},
            at=max(row.at for row in parts),
            skipped=next((row.value for row in parts if not row.scheme), None),
            details={row.scheme: detail for row in answered if (detail := _detail(row))},
        )


def _detail(row: ExportRow) -> dict[str, Any]:
    detail: dict[str, Any] = {}
    if row.origin != "none":
        detail["origin"] = row.origin
    if row.suggestion is not None:
        detail["suggestion"] = row.suggestion
    if row.elapsed_ms is not None:
        detail["elapsed_ms"] = row.elapsed_ms
    return detail


def _counted(
    labels: Iterable[Labels | PreLabels], manifest: Manifest, schemes: Mapping[str, Scheme]
) -> Iterator[Labels | PreLabels]:
    takes: dict[tuple[str, str], bool] = {}
    last = None
    for each in labels:
        manifest.lines += 1
        if isinstance(each, PreLabels):
            manifest.pre_labels.update(each.suggestions.keys())
            yield each
            continue
        manifest.items += each.item != last
        last = each.item
        manifest.annotators.add(each.annotator)
        manifest.skipped += each.skipped is not None
        for name, answer in each.answers.items():
            manifest.answers[name] += 1
            said = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
            if (name, said) not in takes:
                takes[name, said] = len(takes) < _REMEMBERED and _takes(schemes.get(name), answer)
            if not takes[name, said]:
                manifest.no_longer_in_project.setdefault(name, Counter())[said] += 1
        yield each


_REMEMBERED = 100_000


def _takes(scheme: Scheme | None, answer: Answer) -> bool:
    try:
        return scheme is not None and scheme.parse(answer) == answer
    except InvalidAnswer:
        return False


def _cell(answer: Answer | None) -> str:
    if answer is None:
        return ""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def _guarded(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
