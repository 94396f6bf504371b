"""Words that every finding shares, and pydantic's errors in ours."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from pydantic_core import ErrorDetails


def quoted(value: object) -> str:
    """`value` as it is shown in a sentence: on one line, and not endless."""
    text = " ".join(str(value).split())
    return f"`{text[:80]}…`" if len(text) > 80 else f"`{text}`"


def one_of(values: Iterable[object]) -> str:
    """`a`, `b` or `c`."""
    shown = [f"`{value}`" for value in values]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def nearest(wrong: str, known: Iterable[object]) -> str | None:
    """The known word that `wrong` was most likely meant to be."""
    plain = {_plain(str(word)): str(word) for word in known}
    found = difflib.get_close_matches(_plain(wrong[:80]), plain, n=1, cutoff=0.6)
    return plain[found[0]] if found else None


def near(wrong: str, known: Iterable[object]) -> str:
    """`; did you mean …?`, or nothing when nothing comes near."""
    word = nearest(wrong, known)
    return f"; did you mean `{word}`?" if word else ""


def _plain(word: str) -> str:
    return word.lower().replace("-", "_").strip()


def sentence(error: ErrorDetails, *, secret: bool = False) -> str:
    """What a pydantic error says, without its jargon."""
    context: dict[str, Any] = error.get("ctx", {})
    told = "" if secret else f", not {quoted(error['input'])}"
    kind = error["type"]
    limits = {
        "greater_than_equal": "must be at least {ge}",
        "greater_than": "must be more than {gt}",
        "less_than_equal": "must be at most {le}",
        "less_than": "must be less than {lt}",
    }
    if kind in limits:
        return limits[kind].format(**{name: _figure(value) for name, value in context.items()}) + told
    if kind == "missing":
        return f"the required key `{error['loc'][-1]}` is missing"
    if kind == "value_error":
        return str(context["error"])
    return _about_size(kind, context) or _first_small(error["msg"]) + told


def _about_size(kind: str, context: dict[str, Any]) -> str | None:
    if kind == "string_too_short" and context["min_length"] == 1:
        return "must not be empty"
    if kind == "string_too_short":
        return f"must have at least {_count(context['min_length'], 'character')}"
    if kind == "string_too_long":
        return f"must have at most {_count(context['max_length'], 'character')}"
    if kind == "too_short":
        return f"needs at least {_count(context['min_length'], 'entry')}"
    if kind == "too_long":
        return f"takes at most {_count(context['max_length'], 'entry')}, not {context['actual_length']}"
    return None


def _count(count: int, thing: str) -> str:
    return f"one {thing}" if count == 1 else f"{count} {thing.removesuffix('y') + 'ie' if thing[-1] == 'y' else thing}s"


def _figure(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _first_small(text: str) -> str:
    return text[:1].lower() + text[1:]
