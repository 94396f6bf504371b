"""Text that another machine sent, before anybody is shown it."""

from __future__ import annotations

from typing import Any


def clean(value: Any, limit: int = 500) -> str:
    """`value` as one line of at most `limit` printable characters: no control or direction characters, no line
    breaks. Bytes are read as UTF-8, as far as they are."""
    return _shortened(" ".join(_printable(value, limit).split()), limit)


def clean_path(value: Any, limit: int = 1000) -> str:
    """The same of a path, whose spaces are part of it."""
    return _shortened(_printable(value, limit), limit)


def lines(value: Any, limit: int, count: int) -> list[str]:
    """The last `count` lines of a text, each cleaned; empty ones are left out."""
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    found = [clean(line, limit) for line in text.replace("\r", "\n").split("\n")]
    return [line for line in found if line][-count:]


def _printable(value: Any, limit: int) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return "".join(char if char.isprintable() else " " for char in text[: 4 * limit])


def _shortened(line: str, limit: int) -> str:
    return line if len(line) <= limit else line[: limit - 1] + "…"
