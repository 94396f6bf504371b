"""The annotation folders of earlier Potato releases: `annotation_output/<user>/user_state.json`.

There, an item's answers are pairs of `{schema, name}` and a value, a pair for each label that was ever chosen. Choices
are told by the name, numbers and texts by the value. Spans are pairs too, with `start`, `end` and `name`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from potato.items.importers.plain import PlainLine, Texts
from potato.items.problems import RowProblem
from potato.project import Project
from potato.schemes import Kind, Scheme
from potato.store.clock import to_text

FILE = "user_state.json"
_NOT_CHOSEN = (False, None, "", "false", "False", 0, "0")
_SIDES = {"A": "a", "B": "b"}
_MOST = 512 * 1024 * 1024


def has_states(folder: Path) -> bool:
    """Whether `folder` holds annotators' states."""
    return any(folder.glob(f"*/{FILE}"))


def read_states(folder: Path, project: Project, texts: Texts) -> Iterator[PlainLine | RowProblem]:
    """What every annotator answered, in the plain form, one annotator's file at a time."""
    for path in sorted(folder.glob(f"*/{FILE}")):
        yield from read_state(path, project, texts)


def read_state(path: Path, project: Project, texts: Texts) -> Iterator[PlainLine | RowProblem]:
    """What one annotator answered. A line's number is the item's place in the file."""
    name = f"{path.parent.name}/{path.name}"
    try:
        if path.stat().st_size > _MOST:
            yield RowProblem(name, None, f"it is larger than {_MOST // 2**20} MB, the most that one may have")
            return
        state = json.loads(path.read_text("utf-8"))
        lines = list(_lines(name, state, project, texts))
    except OSError as error:
        yield RowProblem(name, None, f"it cannot be read ({error.strerror})")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError):
        yield RowProblem(name, None, "it does not have the shape of a user state of Potato")
    else:
        yield from lines


def _lines(file: str, state: Mapping[str, Any], project: Project, texts: Texts) -> Iterator[PlainLine | RowProblem]:
    labels = state.get("instance_id_to_label_to_value", {})
    spans = state.get("instance_id_to_span_to_value", {})
    items = [*labels, *(item for item in spans if item not in labels)]
    read = texts([item for item, marked in spans.items() if marked])
    for number, item in enumerate(items, 1):
        changes = (state.get("instance_id_to_behavioral_data", {}).get(item) or {}).get("annotation_changes") or []
        answers = _answers(labels.get(item, []), changes, project.schemes)
        answers |= _spans(spans.get(item, []), read.get(item, ""))
        if not answers:
            continue
        line = {"id": item, "annotator": state["user_id"], "annotations": answers}
        moments = [change["timestamp"] for change in changes if isinstance(change.get("timestamp"), (int, float))]
        if moments:
            line["at"] = to_text(datetime.fromtimestamp(max(moments), timezone.utc))
        yield PlainLine(file, number, line)


def _answers(
    pairs: Sequence[Any], changes: Sequence[Mapping[str, Any]], schemes: Mapping[str, Scheme]
) -> dict[str, Any]:
    chosen: dict[str, dict[str, Any]] = {}
    for label, value in pairs:
        if value not in _NOT_CHOSEN or str(value) == label["name"] or _tells_by_value(schemes.get(label["schema"])):
            chosen.setdefault(label["schema"], {})[label["name"]] = value
    return {name: _answer(schemes.get(name), name, given, changes) for name, given in chosen.items()}


def _tells_by_value(scheme: Scheme | None) -> bool:
    return scheme is not None and scheme.kind in (Kind.CONTINUOUS, Kind.TEXT, Kind.PAIRWISE)


def _answer(scheme: Scheme | None, name: str, given: Mapping[str, Any], changes: Sequence[Mapping[str, Any]]) -> Any:
    kind = scheme.kind if scheme is not None else None
    if kind is Kind.MULTILABEL:
        return list(given)
    if kind in (Kind.CONTINUOUS, Kind.TEXT, Kind.PAIRWISE):
        value = list(given.values())[-1]
        if kind is Kind.CONTINUOUS and isinstance(value, str):
            return _number(value)
        return _SIDES.get(value, value) if kind is Kind.PAIRWISE else (value or None)
    last = _last(name, list(given), changes)
    return int(last) if kind is Kind.ORDINAL and isinstance(last, str) and last.isdigit() else last


def _last(scheme: str, names: list[str], changes: Sequence[Mapping[str, Any]]) -> Any:
    """The label that was chosen last. Early releases kept every one that was ever clicked on a question that takes one;
    where nothing tells the last, the list of them all is given, which the scheme then refuses."""
    if len(names) == 1:
        return names[0]
    told = [c for c in changes if c.get("schema_name") == scheme and c.get("label_name") in names and "timestamp" in c]
    return max(told, key=lambda change: float(change["timestamp"]))["label_name"] if told else names


def _number(value: str) -> Any:
    try:
        number = float(value)
    except ValueError:
        return value or None
    return int(number) if number.is_integer() else number


def _spans(pairs: Sequence[Any], text: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for span, _ in pairs:
        start, end = int(span["start"]), int(span["end"])  # code points, as here
        region = {"start": start, "end": end, "label": span["name"], "text": text[start:end]}
        found.setdefault(span["schema"], []).append(region)
    return found
