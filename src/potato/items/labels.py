"""The plain form of labels: one line for each item and annotator.

`{"id": "1_1", "annotator": "rater-03", "annotations": {"sentiment": "positive"}, "at": "2026-11-29T14:15:00Z"}`, and
where there is something to say `skipped` (why, may be empty), `extra` and `details` (by scheme `origin`, `suggestion`,
`elapsed_ms`). `importers` turns whatever else can be read into it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from potato.items.importers import PlainLine, Texts, plain_lines
from potato.items.problems import RowProblem
from potato.items.records import called
from potato.items.text import storable
from potato.project import Project
from potato.schemes import Answer, InvalidAnswer
from potato.store.clock import from_text, to_text
from potato.store.users import InvalidName, clean_name

KEYS = {
    "id",
    "annotator",
    "adjudicator",
    "annotations",
    "at",
    "skipped",
    "flagged",
    "extra",
    "details",
    "pre_labels",
    "text",
}
ORIGINS = ("none", "accepted", "changed")
MAX_ELAPSED_MS = 2**31 - 1
"""The most that the store's column takes: 24 days."""
MAX_DEPTH = 100
"""How deep lists and objects may be nested in details; writing them out again has its limit too."""


@dataclass(frozen=True)
class LabelLine:
    """One line, parsed. `refused` are answers that the project does not take: scheme → (the answer, why).

    `annotator` is None on a line of what an `adjudicator` decided, and on one that holds a model's suggestions only.
    """

    file: str
    line: int
    item: str
    annotator: str | None
    answers: dict[str, Answer] = field(default_factory=dict)
    refused: dict[str, tuple[Any, str]] = field(default_factory=dict)
    at: str | None = None
    skipped: str | None = None
    flagged: str | None = None
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    adjudicator: str | None = None
    extra: bool = False


class _Wrong(Exception):
    pass


class LabelReader:
    """The labels at a path and what is wrong with them, in order, streamed.

    `texts` gives the texts of items by id, for sources that tell where a span is and not what it says.
    """

    def __init__(self, path: Path, project: Project, texts: Texts) -> None:
        self._path = path
        self._project = project
        self._texts = texts

    def __iter__(self) -> Iterator[LabelLine | RowProblem]:
        for plain in plain_lines(self._path, self._project, self._texts):
            if isinstance(plain, RowProblem):
                yield plain
                continue
            try:
                yield self._line(plain)
            except (_Wrong, InvalidName) as wrong:
                yield RowProblem(plain.file, plain.line, str(wrong))
            except RecursionError:
                yield RowProblem(plain.file, plain.line, "this is nested too deeply")

    def _line(self, plain: PlainLine) -> LabelLine:
        fields = plain.fields
        unknown = next((name for name in fields if name not in KEYS), None)
        if unknown is not None:
            raise _Wrong(f"unknown key {unknown!r:.80}; a line has id, annotator, annotations and at")
        item = _item(fields.get("id"))
        if "annotator" not in fields and "pre_labels" in fields:
            return LabelLine(plain.file, plain.line, item, None)
        decided = "adjudicator" in fields
        if decided and "annotator" in fields:
            raise _Wrong("a line has an annotator or an adjudicator, not both")
        line = LabelLine(
            plain.file,
            plain.line,
            item,
            None if decided else _annotator(fields.get("annotator")),
            adjudicator=_annotator(fields["adjudicator"]) if decided else None,
            at=_at(fields.get("at")),
            skipped=_reason("skipped", fields.get("skipped")),
            flagged=_reason("flagged", fields.get("flagged")),
            details=_details(fields.get("details")),
            extra=_extra(fields.get("extra")),
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
            scheme = self._project.schemes.get(name)
            if scheme is None:
                line.refused[name] = (raw, f"the project has no scheme {name!r:.80}")
                continue
            try:
                line.answers[name] = scheme.parse(raw)
            except InvalidAnswer as error:
                line.refused[name] = (raw, error.message)


def _item(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise _Wrong("there is no id" if value in (None, "") else f"the id is {called(value)}")
    if storable(value) != value:  # no item can have it, and no store can even look for it
        raise _Wrong(f"the project has no item {value!r:.80}")
    return value


def _annotator(value: Any) -> str:
    """The name as sign-in has it, so that the person is one annotator."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise _Wrong("there is no annotator" if value is None else f"the annotator is {called(value)}")
    return clean_name(value)


def _at(value: Any) -> str | None:
    if value is None:
        return None
    try:
        return to_text(from_text(value))
    except (ValueError, TypeError, AttributeError, OverflowError):
        raise _Wrong(f"at is {value!r:.60}; it is a time with its zone, like 2026-11-29T14:15:00Z") from None


def _reason(name: str, value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, str):
        return str(storable(value))
    raise _Wrong(f"{name} is {called(value)}; it is a text, the reason")


def _extra(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise _Wrong(f"extra is {called(value)}; it is true or false")


def _details(value: Any) -> dict[str, dict[str, Any]]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(detail, dict) for detail in value.values()):
        raise _Wrong("details is an object, scheme → object")
    for name, detail in value.items():
        _check_detail(name, detail)
    return {name: {key: _kept(name, part) for key, part in detail.items()} for name, detail in value.items()}


def _check_detail(name: str, detail: Mapping[str, Any]) -> None:
    unknown = set(detail) - {"origin", "suggestion", "elapsed_ms", "shown"}
    elapsed, suggestion = detail.get("elapsed_ms"), detail.get("suggestion")
    if unknown:
        raise _Wrong(f"details of {name!r:.80}: unknown key {sorted(unknown)[0]!r:.80}")
    if detail.get("origin", "none") not in ORIGINS:
        raise _Wrong(f"details of {name!r:.80}: origin is one of {', '.join(ORIGINS)}")
    if suggestion is not None and not isinstance(suggestion, dict):
        raise _Wrong(f"details of {name!r:.80}: suggestion is {called(suggestion)}, not an object")
    if elapsed is not None and (type(elapsed) is not int or not 0 <= elapsed <= MAX_ELAPSED_MS):
        raise _Wrong(f"details of {name!r:.80}: elapsed_ms is a whole number from 0 to {MAX_ELAPSED_MS}")


def _kept(name: str, value: Any, deeper: int = MAX_DEPTH) -> Any:
    """`value` of the details of `name`, with texts that a store takes. Raises `_Wrong` where it has what none takes."""
    if isinstance(value, float) and not math.isfinite(value):
        raise _Wrong(f"details of {name!r:.80}: {value} is no number that can be kept")
    if not isinstance(value, (dict, list)):
        return storable(value)
    if not deeper:
        raise _Wrong(f"details of {name!r:.80}: they are nested more than {MAX_DEPTH} deep")
    if isinstance(value, list):
        return [_kept(name, part, deeper - 1) for part in value]
    return {storable(key): _kept(name, part, deeper - 1) for key, part in value.items()}
