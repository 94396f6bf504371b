"""`spacy`: JSON lines that `spacy.training.Example.from_dict` takes; written without spaCy."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, BinaryIO

from potato.items.exporters.base import FileExporter, Labels, Line, Options, as_text
from potato.schemes import Answer, Kind, Scheme


class Spacy(FileExporter):
    """A line for each item and annotator with something that spaCy learns: categories, spans."""

    keeps = (
        "choices as `cats`, spans as `spans` by question, and as `entities` where none overlap; no numbers, texts, or "
        "skipped items"
    )
    comes_back = False

    def write(self, lines: Iterable[Line], file: BinaryIO, options: Options) -> None:
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
        with as_text(file) as text:
            for line in lines:
                if isinstance(line, Labels) and line.skipped is None and (learnt := _annotations(line, options)):
                    text.write(encode({"text": line.text, **learnt, "meta": _meta(line)}) + "\n")


def _meta(line: Labels) -> dict[str, Any]:
    who = {"annotator": line.annotator} if line.adjudicator is None else {"adjudicator": line.adjudicator}
    return {"id": line.item, **who, "at": line.at}


def _annotations(line: Labels, options: Options) -> dict[str, Any]:
    cats: dict[str, float] = {}
    spans: dict[str, list[list[Any]]] = {}
    for name, answer in line.answers.items():
        scheme = options.known.get(name)
        if scheme is not None and scheme.kind is Kind.SPAN and isinstance(answer, list):
            spans[name] = sorted([span["start"], span["end"], span["label"]] for span in answer)
        elif scheme is not None and scheme.kind in (Kind.NOMINAL, Kind.MULTILABEL):
            cats.update(_cats(scheme, answer, prefix=_choosing(options) > 1))
    found: dict[str, Any] = {"cats": cats} if cats else {}
    if spans:
        found["spans"] = spans
        marked = sorted(span for of_scheme in spans.values() for span in of_scheme)
        if all(one[1] <= other[0] for one, other in pairwise(marked)):
            found["entities"] = marked
    return found


def _choosing(options: Options) -> int:
    """How many questions give categories. With several, a category is called `question=label`."""
    return sum(scheme.kind in (Kind.NOMINAL, Kind.MULTILABEL) for scheme in options.known.values())


def _cats(scheme: Scheme, answer: Answer, *, prefix: bool) -> dict[str, float]:
    chosen = answer if isinstance(answer, list) else [answer]
    names = [*scheme.label_names(), *(name for name in chosen if name not in scheme.label_names())]
    return {f"{scheme.name}={name}" if prefix else name: float(name in chosen) for name in names}
