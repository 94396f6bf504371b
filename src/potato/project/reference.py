"""The configuration reference, written from the models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from potato.model import Model
from potato.project.kinds import Choice, choices, is_model, item_kind, kind_of
from potato.project.models import ProjectFile

_HEAD = """# Configuration

One YAML file describes a project. `potato validate config.yaml` checks it, `potato start config.yaml` serves it, and
`potato schema` prints its JSON Schema for editors. This page is made from the same models that check the file.

Text is taken exactly as it is written: `no`, `01`, `1.0` and `04:00:00` need no quotes. A key that is not listed here
is an error. Relative paths start from `task_dir`.
"""
_WORDS = {str: "text", SecretStr: "text", bool: "`true` or `false`", int: "a whole number", float: "a number"}


@dataclass(frozen=True)
class Section:
    """A model with the dotted key that it stands under; `which` tells the models of one key apart."""

    key: str
    which: str
    model: type[Model]

    @property
    def title(self) -> str:
        """The heading."""
        if not self.key:
            return "The whole file"
        return f"`{self.key}`" + (f" with `{self.which}`" if self.which else "")


def markdown() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(line for section in sections() for line in _lines(section))])


def sections() -> list[Section]:
    """Every model of the project file once, the file itself first, in the order that a reader meets them."""
    found: dict[type[Model], Section] = {ProjectFile: Section("", "", ProjectFile)}
    _collect(ProjectFile, "", found)
    return list(found.values())


def _collect(model: type[Model], prefix: str, found: dict[type[Model], Section]) -> None:
    for name, field in model.model_fields.items():
        for section in _of_field(field.rebuild_annotation(), prefix + name):
            if section.model not in found:
                found[section.model] = section
                _collect(section.model, section.key + ".", found)


def _of_field(annotation: Any, key: str) -> Iterator[Section]:
    kind = kind_of(annotation).one
    if isinstance(kind, Choice):
        yield from (Section(key, f"{kind.discriminator}: {value}", model) for value, model in kind.models.items())
    elif is_model(kind):
        yield Section(key, "", kind)
    elif get_origin(kind) is list:
        yield from _of_field(item_kind(kind), f"{key}[]")
    elif get_origin(kind) is dict:
        yield from _of_field(item_kind(kind), f"{key}.NAME")


def _lines(section: Section) -> Iterator[str]:
    yield f"## {section.title}\n"
    yield f"{_summary(section.model)}\n"
    yield "| key | takes | default | meaning |"
    yield "| --- | --- | --- | --- |"
    for name, field in sorted(section.model.model_fields.items(), key=lambda pair: pair[0] != "type"):
        yield _row(section.model, name, field)
    yield ""


def _summary(model: type[Model]) -> str:
    return " ".join((model.__doc__ or "").split())


def _row(model: type[Model], name: str, field: FieldInfo) -> str:
    cells = [f"`{name}`", _takes(field), _default(field), description(model, name)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def description(model: type[Model], name: str) -> str:
    """What the field `name` of `model` is for: its own docstring, or that of the field which it narrows."""
    for place in model.__mro__:
        fields: dict[str, FieldInfo] = getattr(place, "model_fields", {})
        if name in fields and fields[name].description:
            return " ".join(str(fields[name].description).split())
    return ""


def _takes(field: FieldInfo) -> str:
    words = _kind_in_words(field.rebuild_annotation())
    limits = [_limit(note) for note in field.metadata]
    return ", ".join([words, *(limit for limit in limits if limit)])


def _limit(note: Any) -> str:
    if isinstance(note, Ge):
        return f"at least {note.ge}"
    if isinstance(note, Gt):
        return f"more than {note.gt}"
    if isinstance(note, Le):
        return f"at most {note.le}"
    return f"less than {note.lt}" if isinstance(note, Lt) else ""


def _kind_in_words(annotation: Any) -> str:
    return " or ".join(dict.fromkeys(_one_in_words(kind) for kind in kind_of(annotation).alternatives))


def _one_in_words(kind: Any) -> str:
    if isinstance(kind, Choice) or is_model(kind):
        return "a block"
    allowed = choices(kind)
    if allowed is not None:
        return " or ".join(f"`{value}`" for value in allowed)
    if get_origin(kind) is list:
        words = _kind_in_words(item_kind(kind))
        return "a list of blocks" if words == "a block" else f"a list of {words}"
    if get_origin(kind) is dict:
        return f"names, each with {_kind_in_words(item_kind(kind))}"
    return _WORDS.get(kind, "any value")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.default
    if default is None or default in ([], {}) or isinstance(default, Model):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`"
