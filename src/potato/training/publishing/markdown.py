"""Any text as a piece of Markdown that shows as that text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_MEANT = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&:$@^\"'=])")


def plain(text: str) -> str:
    """`text` on one line, where no character of it means anything to Markdown, HTML or a table."""
    return _MEANT.sub(r"\\\1", " ".join(text.split()))


def label(name: str) -> str:
    """A label as it is, also one that begins or ends with a space, or is long."""
    shown = name if len(name) <= 200 else name[:200] + "…"
    return plain(shown) if shown == " ".join(shown.split()) else f"“{plain(shown)}”"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; the cells are Markdown already. The first column is text, the others are figures."""
    ruler = ["---", *("---:" for _ in head[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ruler, *rows))
