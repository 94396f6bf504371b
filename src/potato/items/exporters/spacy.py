"""`spacy`: JSON lines that `spacy.training.Example.from_dict` takes; written without spaCy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
        encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False).encode
        learnt = _Learnt(options.known)
        with as_text(file) as text:
            for line in lines:
                if isinstance(line, Labels) and line.skipped is None and (said := learnt.of(line.answers)):
                    text.write(encode({"text": line.text, **said, "meta": _meta(line)}) + "\n")


def _meta(line: Labels) -> dict[str, Any]:
    who = {"annotator": line.annotator} if line.adjudicator is None else {"adjudicator": line.adjudicator}
    return {"id": line.item, **who, "at": line.at}


def _plain(name: str) -> str:
    """A question's name, in quotation marks where it would not be clear where it ends: no two categories are one."""
    return json.dumps(name, ensure_ascii=False) if "=" in name or name.startswith('"') else name


class _Learnt:
    """What spaCy learns of answers to the project's questions: some become categories, some spans."""

    def __init__(self, schemes: Mapping[str, Scheme]) -> None:
        choosing = {name: each for name, each in schemes.items() if each.kind in (Kind.NOMINAL, Kind.MULTILABEL)}
        self._marking = {name for name, each in schemes.items() if each.kind is Kind.SPAN}
        self._labels = {name: each.label_names() for name, each in choosing.items()}
        self._prefixes = {name: f"{_plain(name)}=" if len(choosing) > 1 else "" for name in choosing}

    def of(self, answers: Mapping[str, Answer]) -> dict[str, Any]:
        """The parts of a line; empty where spaCy learns nothing of the answers."""
        cats: dict[str, float] = {}
        spans: dict[str, list[list[Any]]] = {}
        for name, answer in answers.items():
            if name in self._labels:
                cats.update(self._cats(name, answer))
            elif name in self._marking and isinstance(answer, list):
                spans[name] = sorted([span["start"], span["end"], span["label"]] for span in answer)
        found: dict[str, Any] = {"cats": cats} if cats else {}
        if spans:
            found["spans"] = spans
            marked = sorted(span for of_scheme in spans.values() for span in of_scheme)
            if all(one[1] <= other[0] for one, other in pairwise(marked)):
                found["entities"] = marked
        return found

    def _cats(self, name: str, answer: Answer) -> dict[str, float]:
        """Each label of the question, and whether it was chosen. With several questions, `question=label`."""
        labels, prefix = self._labels[name], self._prefixes[name]
        chosen = answer if isinstance(answer, list) else [answer]
        gone = [label for label in chosen if label not in labels]
        return {f"{prefix}{label}": float(label in chosen) for label in [*labels, *gone]}
