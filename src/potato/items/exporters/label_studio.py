"""`label-studio`: Label Studio's JSON, a task for each item and an annotation for each annotator."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, BinaryIO

from potato.items.exporters.base import FileExporter, Labels, Line, Options, as_text
from potato.schemes import Answer, Kind


class LabelStudio(FileExporter):
    """A list of tasks, one a line. Offsets of spans are in UTF-16 units there, as browsers count.

    A flag is about the task, whether its annotator has answered or not: an empty annotation would count as an answer.
    """

    keeps = (
        "answers, times, skips, flags in the task's `meta`, and adjudicated answers as ground truth, with the item's "
        "id and text; not what was suggested"
    )

    def write(self, lines: Iterable[Line], file: BinaryIO, options: Options) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
        labels = (line for line in lines if isinstance(line, Labels))
        with as_text(file) as text:
            text.write("[")
            for place, (_, of_item) in enumerate(groupby(labels, key=lambda line: line.seq)):
                text.write((",\n" if place else "\n") + encode(_task(list(of_item), options)))
            text.write("\n]\n")


def _task(lines: list[Labels], options: Options) -> dict[str, Any]:
    data = {options.id_key: lines[0].item, options.text_key: lines[0].text}
    task = {"data": data, "annotations": [_annotation(line, options) for line in lines if not line.is_flag_only]}
    flags = [
        {"annotator": line.annotator, "reason": line.flagged, "at": line.at}
        for line in lines
        if line.flagged is not None
    ]
    return {**task, "meta": {FLAGS: flags}} if flags else task


def _annotation(line: Labels, options: Options) -> dict[str, Any]:
    annotation: dict[str, Any] = {
        "completed_by": {"email": line.annotator if line.adjudicator is None else line.adjudicator},
        "created_at": line.at,
        "was_cancelled": line.skipped is not None,
        "ground_truth": line.adjudicator is not None,
        "result": [
            part for name, answer in line.answers.items() for part in _results(name, answer, line.text, options)
        ],
    }
    meta: dict[str, Any] = {"reason": line.skipped} if line.skipped else {}
    if line.extra:
        meta["extra"] = True
    return {**annotation, "meta": meta} if meta else annotation


def _results(name: str, answer: Answer, text: str, options: Options) -> Iterator[dict[str, Any]]:
    kind = options.known[name].kind if name in options.known else None
    about = {"from_name": name, "to_name": options.text_key}
    if kind is Kind.SPAN and isinstance(answer, list):
        yield from ({**about, "type": "labels", "value": _region(span, text)} for span in answer)
        if not answer:
            yield {**about, "type": "labels", "value": {"labels": []}}  # looked at, and nothing to mark
        return
    type_, value = _TYPES.get(kind, _json)(answer)
    yield {**about, "type": type_, "value": value}


def _region(span: dict[str, Any], text: str) -> dict[str, Any]:
    start, end = (utf16_length(text[: span[side]]) for side in ("start", "end"))
    return {"start": start, "end": end, "text": span["text"], "labels": [span["label"]]}


def utf16_length(text: str) -> int:
    """How many UTF-16 units `text` takes: two for what lies beyond the first plane of Unicode."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def _choices(answer: Answer) -> tuple[str, dict[str, Any]]:
    return "choices", {"choices": answer if isinstance(answer, list) else [answer]}


def _pair(answer: Answer) -> tuple[str, dict[str, Any]]:
    return "pairwise", {"selected": SIDES.get(answer, answer)}


def _json(answer: Answer) -> tuple[str, dict[str, Any]]:
    """An answer to a question that the project no longer has."""
    return "textarea", {"text": [answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)]}


FLAGS = "flagged"
"""In a task's `meta`: the list of its flags."""
SIDES = {"a": "left", "b": "right", "tie": "tie"}
_TYPES: dict[Kind | None, Callable[[Answer], tuple[str, dict[str, Any]]]] = {
    Kind.NOMINAL: _choices,
    Kind.MULTILABEL: _choices,
    Kind.ORDINAL: lambda answer: ("rating", {"rating": answer}),
    Kind.CONTINUOUS: lambda answer: ("number", {"number": answer}),
    Kind.PAIRWISE: _pair,
    Kind.TEXT: lambda answer: ("textarea", {"text": [answer]}),
}
