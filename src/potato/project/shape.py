"""From text to values: each node is read as what the models say of its place, and every misfit is told."""

from __future__ import annotations

from typing import Any, get_origin

from pydantic import SecretStr

from potato.model import Model
from potato.project.finding import KeyPath, Problem
from potato.project.kinds import Choice, Kind, is_model, item_kind, kind_of
from potato.project.nodes import Entry, ListNode, MapNode, Node, Scalar
from potato.project.scalars import WrongValue, guess, is_null, read
from potato.project.unknown import about_unknown_key
from potato.project.wording import near, one_of, quoted
from potato.schemes import Label

MAX_VALUES = 200_000
"""More values than this come of anchors that multiply each other."""


class _Unusable:
    """Stands in the tree where no value could be read, so that nothing else is said about that place."""

    def __repr__(self) -> str:
        return "<unusable>"


UNUSABLE = _Unusable()


class TooManyValues(Exception):
    """The anchors of the file expand without end."""


class Shaper:
    """Reads one document. `lines` holds where each value stands, `unusable` the places that have a problem already."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.lines: dict[KeyPath, int] = {}
        self.unusable: set[KeyPath] = set()
        self._values = 0

    def model(self, model: type[Model], node: MapNode, path: KeyPath) -> dict[str, Any]:
        """The keys of `node` that `model` takes, each read as its field wants it."""
        tree: dict[str, Any] = {}
        for entry in node.entries.values():
            here = (*path, entry.key)
            self.lines[here] = entry.line
            field = model.model_fields.get(entry.key)
            if field is None:
                self.problems.append(Problem(here, about_unknown_key(model, entry.key, bare=_nothing(entry.value))))
            elif not (_nothing(entry.value) and not field.is_required() and _holds_others(kind_of(field.annotation))):
                node_read = entry.value if issubclass(model, Label) else _without_null(entry.value)
                tree[entry.key] = self.value(field.rebuild_annotation(), node_read, here)
        return tree

    def value(self, annotation: Any, node: Node, path: KeyPath) -> Any:
        """`node` as a value of the annotated type, or `UNUSABLE`."""
        self._values += 1
        if self._values > MAX_VALUES:
            raise TooManyValues
        kind = kind_of(annotation)
        if kind.optional and _nothing(node):
            return None
        try:
            return self._typed(kind, node, path)
        except WrongValue as wrong:
            self.problems.append(Problem(path, str(wrong)))
            self.unusable.add(path)
            return UNUSABLE

    def _typed(self, kind: Kind, node: Node, path: KeyPath) -> Any:
        one = kind.one
        if isinstance(one, Choice):
            return self._chosen(one, node, path)
        if is_model(one):
            return self._model(one, node, path)
        if get_origin(one) is dict:
            return self._mapping(one, node, path)
        if isinstance(node, ListNode) and (listed := kind.listed()):
            return [self._item(listed, item, (*path, place)) for place, item in enumerate(node.items)]
        if one is Any:
            return self._anything(node, path)
        return self._scalar(one, kind, node)

    def _item(self, listed: Any, node: Node, path: KeyPath) -> Any:
        self.lines[path] = node.line
        return self.value(item_kind(listed), node, path)

    @staticmethod
    def _scalar(one: Any, kind: Kind, node: Node) -> Any:
        wanted = _wanted(one)
        if kind.listed() is one:
            raise WrongValue(f"must be a list{_as_a_list(node)}")
        if not isinstance(node, Scalar):
            raise WrongValue(f"must be {wanted}, not a {'list' if isinstance(node, ListNode) else 'mapping'}")
        if node.empty or (one not in (str, SecretStr) and is_null(node)):
            raise WrongValue(f"has no value; it must be {wanted}")
        return read(one, node)

    def _model(self, model: type[Model], node: Node, path: KeyPath) -> dict[str, Any]:
        if issubclass(model, Label) and isinstance(node, Scalar) and not node.empty:
            return {"name": node.text}
        return self.model(model, _a_mapping(node), path)

    def _chosen(self, choice: Choice, node: Node, path: KeyPath) -> dict[str, Any]:
        entry = _a_mapping(node).entries.get(choice.discriminator)
        if entry is None:
            raise WrongValue(f"the required key `{choice.discriminator}` is missing; it is {one_of(choice.models)}")
        chosen = entry.value.text if isinstance(entry.value, Scalar) else ""
        model = choice.models.get(chosen)
        if model is None:
            self._unknown_type(choice, entry, chosen, (*path, choice.discriminator))
            self.unusable.add(path)
            return {key: e.value.text for key, e in _a_mapping(node).entries.items() if isinstance(e.value, Scalar)}
        return self.model(model, _a_mapping(node), path)

    def _unknown_type(self, choice: Choice, entry: Entry, chosen: str, path: KeyPath) -> None:
        self.lines[path] = entry.line
        told = f", not {quoted(chosen)}{near(chosen, choice.models)}" if chosen else ""
        self.problems.append(Problem(path, f"must be {one_of(choice.models)}{told}"))

    def _mapping(self, kind: Any, node: Node, path: KeyPath) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for entry in _a_mapping(node).entries.values():
            here = (*path, entry.key)
            self.lines[here] = entry.line
            tree[entry.key] = self.value(item_kind(kind), entry.value, here)
        return tree

    def _anything(self, node: Node, path: KeyPath) -> Any:
        if isinstance(node, MapNode):
            return self._mapping(dict[str, Any], node, path)
        if isinstance(node, ListNode):
            return [self._item(list[Any], item, (*path, place)) for place, item in enumerate(node.items)]
        return guess(node)


def _nothing(node: Node) -> bool:
    return isinstance(node, Scalar) and is_null(node)


def _without_null(node: Node) -> Node:
    """A field that is `null` has no value; in lists of text, in `env` and as a label, `null` is a word like others."""
    return Scalar("", True, node.line) if _nothing(node) else node


def _holds_others(kind: Kind) -> bool:
    """A block whose lines are all commented out is a block that was left out."""
    return is_model(kind.one) or get_origin(kind.one) in (dict, list)


def _a_mapping(node: Node) -> MapNode:
    if isinstance(node, MapNode):
        return node
    told = "a list" if isinstance(node, ListNode) else "empty" if node.empty else quoted(node.text)
    raise WrongValue(f"must be a mapping of keys, not {told}")


def _as_a_list(node: Node) -> str:
    if isinstance(node, MapNode):
        return ", not a mapping"
    if isinstance(node, Scalar) and not node.empty:
        return f", not {quoted(node.text)}; for one entry write [{quoted(node.text)[1:-1]}]"
    return ""


def _wanted(kind: Any) -> str:
    words = {str: "text", SecretStr: "text", bool: "true or false", int: "a whole number", float: "a number"}
    return words.get(kind, "a single value")
