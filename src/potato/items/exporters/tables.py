"""`csv` and `tsv`: a row for each item and annotator, and a column for each scheme."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import BinaryIO

from potato.items.exporters.base import FileExporter, Labels, Line, Options, as_text
from potato.items.importers.plain import COLUMN, YES
from potato.schemes import Answer

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet program takes for a formula."""


class Table(FileExporter):
    """A list, a number or spans are written as JSON; a text as it is."""

    keeps = (
        "answers, times, skips, flags and adjudicated answers, and the item's text beside them; not what was suggested"
    )

    def __init__(self, delimiter: str) -> None:
        self._delimiter = delimiter

    def write(self, lines: Iterable[Line], file: BinaryIO, options: Options) -> None:
        guard = guarded if options.guard_formulas else str
        columns = [COLUMN + name for name in options.schemes]
        who = ["adjudicator"] if options.adjudicated else []
        with as_text(file) as text:
            writer = csv.writer(text, delimiter=self._delimiter, lineterminator="\r\n")
            writer.writerow(
                map(guard, ("id", "annotator", *who, "at", "skipped", "flagged", "extra", *columns, "text"))
            )
            for line in lines:
                if isinstance(line, Labels):
                    writer.writerow(map(guard, _row(line, options)))


def guarded(cell: str) -> str:
    """`cell` with a `'` before what a spreadsheet program takes for a formula."""
    return f"'{cell}" if cell.startswith(FORMULA) else cell


def _row(line: Labels, options: Options) -> list[str]:
    who = [line.adjudicator or ""] if options.adjudicated else []
    answers = [cell(line.answers.get(name)) for name in options.schemes]
    noted = [reason_cell(line.skipped), reason_cell(line.flagged), YES if line.extra else ""]
    return [line.item, line.annotator or "", *who, line.at, *noted, *answers, line.text]


def reason_cell(reason: str | None) -> str:
    """The reason of a skip or flag as one cell: empty where there is neither, `yes` for one without a reason.

    A reason that would then be read as something else stands in quotes, as JSON.
    """
    if reason is None:
        return ""
    return json.dumps(reason, ensure_ascii=False) if reason == YES or reason.startswith('"') else reason or YES


def cell(answer: Answer | None) -> str:
    """An answer as one cell; empty where there is none."""
    if answer is None:
        return ""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
