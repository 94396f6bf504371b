"""Label Studio's JSON: a list of tasks, each with the annotations that people made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from potato.items.exporters.label_studio import FLAGS, SIDES
from potato.items.importers.plain import PlainLine, Texts
from potato.items.problems import RowProblem
from potato.items.records import called
from potato.project import Project
from potato.schemes import Kind, Scheme

_LEFT = {there: here for here, there in SIDES.items()}


def is_task(fields: Mapping[str, Any]) -> bool:
    """Whether a record is a task of Label Studio's, and not a line of the plain form."""
    return isinstance(fields.get("data"), dict) and "annotator" not in fields


def read_task(task: PlainLine, project: Project, texts: Texts) -> Iterator[PlainLine | RowProblem]:
    """A task's annotations and flags in the plain form. Predictions are nobody's answers, and are left out."""
    properties = project.config.item_properties
    data = task.fields["data"]
    item = data.get(properties.id_key)
    if item is None:
        yield RowProblem(task.file, task.line, f"the task's data has no {properties.id_key!r:.60}, the item's id")
        return
    text = data.get(properties.text_key)
    if not isinstance(text, str):
        text = texts([str(item)]).get(str(item), "")
    flags = _flags(task.fields.get("meta"))
    annotations = task.fields.get("annotations") or task.fields.get("completions") or []
    if not isinstance(annotations, list):
        yield RowProblem(task.file, task.line, f"the task's annotations are {called(annotations)}, not a list")
        return
    for made in annotations:
        try:
            line = _line(item, text, made, project)
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError):
            yield RowProblem(task.file, task.line, "this annotation does not have the shape that Label Studio writes")
            continue
        annotator = line.get("annotator")
        flag = flags.pop(annotator, None) if isinstance(annotator, str) else None
        yield PlainLine(task.file, task.line, line if flag is None else {**line, "flagged": flag["flagged"]})
    for flag in flags.values():
        yield PlainLine(task.file, task.line, {"id": item, **flag})


def _flags(meta: Any) -> dict[Any, dict[str, Any]]:
    """Annotator → the line that tells of their flag, as an export wrote it into the task's `meta`; others have none."""
    said = meta.get(FLAGS) if isinstance(meta, dict) else None
    made = [flag for flag in said if isinstance(flag, dict)] if isinstance(said, list) else []
    return {
        flag["annotator"]: {
            "annotator": flag["annotator"],
            "annotations": {},
            "at": flag.get("at"),
            "flagged": flag.get("reason"),
        }
        for flag in made
        if isinstance(flag.get("annotator"), str)
    }


def _line(item: Any, text: str, made: Mapping[str, Any], project: Project) -> dict[str, Any]:
    results: dict[str, list[Mapping[str, Any]]] = {}
    for part in made["result"]:
        if "from_name" in part:
            results.setdefault(part["from_name"], []).append(part)
    answers = {name: _answer(project.schemes.get(name), parts, text) for name, parts in results.items()}
    who = "adjudicator" if made.get("ground_truth") else "annotator"
    line: dict[str, Any] = {"id": item, who: _name(made.get("completed_by")), "annotations": answers}
    at = made.get("updated_at") or made.get("created_at")
    if at:
        line["at"] = at
    meta = made.get("meta") or {}
    if made.get("was_cancelled"):
        reason = meta.get("reason")
        line["skipped"] = "" if reason is None else reason
    if meta.get("extra") is True:
        line["extra"] = True
    return line


def _name(completed_by: Any) -> Any:
    if isinstance(completed_by, dict):
        return completed_by.get("email") or str(completed_by["id"])
    return completed_by


def _answer(scheme: Scheme | None, parts: Sequence[Mapping[str, Any]], text: str) -> Any:
    """The answer that the results of one question come to, as the question's kind has it."""
    values = [part["value"] for part in parts]
    kind = scheme.kind if scheme is not None else None
    if kind is Kind.SPAN:
        return [_span(value, text) for value in values if value.get("labels") or "start" in value]
    if kind is Kind.MULTILABEL:
        return [label for value in values for label in _said(value)]
    said = _said(values[-1])
    answer = said[0] if isinstance(said, list) and len(said) == 1 else said
    if kind is Kind.PAIRWISE and isinstance(answer, str):
        return _LEFT.get(answer, answer)
    if kind is Kind.ORDINAL and isinstance(answer, str) and answer.isdigit():
        return int(answer)
    return answer


def _said(value: Mapping[str, Any]) -> Any:
    """What one result says, by whatever name its kind of control has for it."""
    for name in ("choices", "rating", "number", "text", "selected", "labels", "taxonomy"):
        if name in value:
            return value[name]
    raise KeyError("no known answer")


def _span(value: Mapping[str, Any], text: str) -> dict[str, Any]:
    """A region in code points. Label Studio counts UTF-16 units, as browsers do; other tools that write its JSON count
    code points: which of them it is, the quoted text tells."""
    start, end = int(value["start"]), int(value["end"])
    quoted = value.get("text")
    units = text.encode("utf-16-le", "surrogatepass")
    first, last = (len(units[: 2 * place].decode("utf-16-le", "replace")) for place in (start, end))
    if quoted is None or text[first:last] == quoted or text[start:end] != quoted:
        start, end = first, last
    return {
        "start": start,
        "end": end,
        "label": value["labels"][0],
        "text": text[start:end] if quoted is None else quoted,
    }
