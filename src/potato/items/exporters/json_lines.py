"""`jsonl`: the plain form, a line for each item and annotator."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import BinaryIO

from potato.items.exporters.base import FileExporter, Line, Options, as_text


class JsonLines(FileExporter):
    """JSON lines as `potato import` documents them."""

    keeps = (
        "everything: answers, times, skips, flags, what was suggested, accepted or changed, adjudicated answers, and "
        "the live suggestions"
    )
    pre_labels = True
    reads_text = False

    def write(self, lines: Iterable[Line], file: BinaryIO, options: Options) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
        with as_text(file) as text:
            text.writelines(encode(line.as_json()) + "\n" for line in lines)
