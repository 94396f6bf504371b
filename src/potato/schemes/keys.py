"""Which key chooses which label on the annotation page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from potato.schemes.base import Kind, Label, Scheme

RESERVED_KEYS = frozenset({"?", " ", "a", "g", "s"})
"""Single keys that act on the page itself: help, press the focused button, take the suggestion, guidelines, skip."""

NONE_OF_THESE = ""
"""Stands for the explicit "none of these" of a multilabel question among its labels; no label has an empty name."""

ROWS = ("1234567890", "qwertyuiop", "dfhjkl", "zxcvbnm")
"""Keys given out by themselves, as rows of a keyboard, so that a question's keys lie side by side."""


def assign(schemes: Iterable[Scheme]) -> dict[str, dict[str, str]]:
    """Scheme name → label name → key. No key stands twice; a label that finds none free is left out.

    Keys set in the project file come first. The others get the first row with room for the whole question, or else
    whatever is free, in order.
    """
    asked = list(schemes)
    keys = {scheme.name: dict(_set_keys(scheme)) for scheme in asked}
    taken = {key.lower() for of_scheme in keys.values() for key in of_scheme.values()} | RESERVED_KEYS
    for scheme in asked:
        waiting = [name for name in _choices(scheme) if name not in keys[scheme.name]]
        for name, key in zip(waiting, _free_keys(len(waiting), taken), strict=False):
            keys[scheme.name][name] = key
            taken.add(key)
    return keys


def _choices(scheme: Scheme) -> list[str]:
    return scheme.label_names() + ([NONE_OF_THESE] if scheme.kind is Kind.MULTILABEL else [])


def _set_keys(scheme: Scheme) -> Mapping[str, str]:
    labels: Iterable[Label] = getattr(scheme, "labels", ())
    return {label.name: label.key for label in labels if label.key is not None}


def _free_keys(wanted: int, taken: Iterable[str]) -> list[str]:
    used = set(taken)
    rows = [[key for key in row if key not in used] for row in ROWS]
    whole = next((row for row in rows if len(row) >= wanted), None)
    return (whole or [key for row in rows for key in row])[:wanted]
