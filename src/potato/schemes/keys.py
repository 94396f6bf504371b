"""Which key chooses which label on the annotation page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from potato.schemes.base import Label, Scheme

RESERVED_KEYS = frozenset({"?", "!", " ", "a", "g", "s", "z"})
"""Single keys that act on the page itself: help, flag, press what has the focus, take the suggestion, guidelines, skip,
undo."""

MARK_KEY = "m"
"""Goes to the word cursor, where a question asks for stretches of the text."""

FIND_KEY = "/"
"""Goes to the field that finds a label by its name, where a question has many."""

IMAGE_KEYS = frozenset({"+", "-"})
"""Make an item's image larger and smaller."""

AUDIO_KEYS = frozenset({".", ","})
"""Play or pause an item's recording, and go back five seconds in it."""

ROWS = ("1234567890", "qwertyuiop", "dfhjkl", "xcvbnm")
"""Keys given out by themselves, as rows of a keyboard, so that a question's keys lie side by side."""


def assign(schemes: Iterable[Scheme]) -> dict[str, dict[str, str]]:
    """Scheme name → label name, or `WHOLE` → key. No key stands twice; a label that finds none free is left out.

    Keys set in the project file come first. The others get the first row with room for the whole question, or else
    whatever is free, in order.
    """
    asked = list(schemes)
    kept = reserved(asked)
    keys = {scheme.name: dict(_set_keys(scheme)) for scheme in asked}
    taken = {key.lower() for of_scheme in keys.values() for key in of_scheme.values()} | kept
    for scheme in asked:
        waiting = [name for name in scheme.keyed() if name not in keys[scheme.name]]
        for name, key in zip(waiting, _free_keys(len(waiting), taken), strict=False):
            keys[scheme.name][name] = key
            taken.add(key)
    return keys


def reserved(schemes: Iterable[Scheme]) -> frozenset[str]:
    """The single keys that act on a page with these questions, whatever the items hold."""
    asked = list(schemes)
    marks = MARK_KEY if any(scheme.quotes_text for scheme in asked) else ""
    finds = FIND_KEY if any(scheme.many for scheme in asked) else ""
    return RESERVED_KEYS | set(marks + finds)


def _set_keys(scheme: Scheme) -> Mapping[str, str]:
    labels: Iterable[Label] = getattr(scheme, "labels", ())
    return {label.name: label.key for label in labels if label.key is not None}


def _free_keys(wanted: int, taken: Iterable[str]) -> list[str]:
    used = set(taken)
    rows = [[key for key in row if key not in used] for row in ROWS]
    whole = next((row for row in rows if len(row) >= wanted), None)
    return (whole or [key for row in rows for key in row])[:wanted]
