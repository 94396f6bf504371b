"""As much of a faulty project as could be read, so that one error does not hide the others."""

from __future__ import annotations

from typing import Any, get_origin

from pydantic import SecretStr

from potato.model import Model
from potato.project.finding import KeyPath
from potato.project.kinds import Choice, choices, is_model, item_kind, kind_of
from potato.project.shape import UNUSABLE
from potato.schemes import Scheme

_EMPTY: dict[Any, Any] = {str: "", int: 0, float: 0.0, bool: False}


class Draft:
    """Builds models unchecked, with a neutral value at each `faulty` place. Only for finding more that is wrong."""

    def __init__(self, faulty: set[KeyPath]) -> None:
        self._faulty = faulty

    def model(self, model: type[Model], tree: dict[str, Any], path: KeyPath) -> Any:
        """A `model` of what `tree` holds."""
        values: dict[str, Any] = {}
        for name, field in model.model_fields.items():
            here = (*path, name)
            if name in tree and here not in self._faulty:
                values[name] = self._value(field.rebuild_annotation(), tree[name], here)
            elif field.is_required():
                values[name] = self._stand_in(field.rebuild_annotation())
        return model.model_construct(**values)

    def _value(self, annotation: Any, value: Any, path: KeyPath) -> Any:
        kind = kind_of(annotation)
        if value is UNUSABLE:
            return self._stand_in(annotation)
        if isinstance(kind.one, Choice):
            return self._chosen(kind.one, value, path)
        if isinstance(value, dict) and is_model(kind.one):
            return self.model(kind.one, value, path)
        if isinstance(value, dict):
            return {key: self._value(item_kind(kind.one), v, (*path, key)) for key, v in value.items()}
        if isinstance(value, list):
            inner = item_kind(kind.listed() or list[Any])
            return [self._value(inner, item, (*path, place)) for place, item in enumerate(value)]
        return SecretStr(value) if kind.one is SecretStr and value is not None else value

    def _chosen(self, choice: Choice, tree: dict[str, Any], path: KeyPath) -> Any:
        model = choice.models.get(str(tree.get(choice.discriminator)))
        if model is None:
            return self._without_type(choice, tree, path)
        return self.model(model, tree, path)

    def _without_type(self, choice: Choice, tree: dict[str, Any], path: KeyPath) -> Any:
        """A scheme of an unknown type still has a name that others may speak of."""
        any_model = next(iter(choice.models.values()))
        return self.model(Scheme if issubclass(any_model, Scheme) else Model, tree, path)

    def _stand_in(self, annotation: Any) -> Any:
        kind = kind_of(annotation)
        one = kind.one
        if kind.optional:
            return None
        if isinstance(one, Choice):
            return self._without_type(one, {}, ())
        if is_model(one):
            return self.model(one, {}, ())
        if get_origin(one) in (list, dict):
            return get_origin(one)()
        if one is SecretStr:
            return SecretStr("")
        allowed = choices(one)
        return allowed[0] if allowed else _EMPTY.get(one)
