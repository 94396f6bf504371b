"""What a field of the models takes, told from its annotation. The reader, the draft and the reference all ask here."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from potato.model import Model


@dataclass(frozen=True)
class Choice:
    """One of several models; the value of the key `discriminator` says which."""

    discriminator: str
    models: dict[str, type[Model]]


@dataclass(frozen=True)
class Kind:
    """A type taken apart: whether nothing may be given, and what else may."""

    optional: bool
    alternatives: tuple[Any, ...]
    """Types without `Annotated` and `None`, or one `Choice`."""

    @property
    def one(self) -> Any:
        """The type, where there is only one; for text or a list, the text."""
        return self.alternatives[0]

    def listed(self) -> Any | None:
        """The list type among the alternatives."""
        return next((kind for kind in self.alternatives if get_origin(kind) is list), None)


def kind_of(annotation: Any) -> Kind:
    """Take an annotation apart."""
    base, discriminator = _bare(annotation)
    members = list(get_args(base)) if get_origin(base) in (Union, types.UnionType) else [base]
    optional = type(None) in members
    kept = [_bare(member) for member in members if member is not type(None)]
    if discriminator is None and len(kept) == 1:
        base, discriminator = kept[0]
        members = list(get_args(base)) if get_origin(base) in (Union, types.UnionType) else [base]
    else:
        members = [member for member, _ in kept]
    if discriminator is not None:
        return Kind(optional, (_choice(discriminator, members),))
    return Kind(optional, tuple(members))


def item_kind(listed: Any) -> Any:
    """What a list holds, or what a mapping's values are."""
    return get_args(listed)[-1]


def is_model(kind: Any) -> bool:
    """Whether `kind` is one of our models."""
    return isinstance(kind, type) and issubclass(kind, Model)


def choices(kind: Any) -> tuple[Any, ...] | None:
    """The values of a `Literal`, or None."""
    return get_args(kind) if get_origin(kind) is Literal else None


def _bare(annotation: Any) -> tuple[Any, str | None]:
    if get_origin(annotation) is not Annotated:
        return annotation, None
    base, *notes = get_args(annotation)
    found = [note.discriminator for note in notes if isinstance(note, FieldInfo) and note.discriminator]
    return base, str(found[0]) if found else None


def _choice(discriminator: str, members: list[Any]) -> Choice:
    models: dict[str, type[Model]] = {}
    for member in members:
        (value,) = get_args(member.model_fields[discriminator].annotation)
        models[value] = member
    return Choice(discriminator, models)
