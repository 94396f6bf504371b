"""Where in the file a value stands."""

from __future__ import annotations

from collections.abc import Mapping

from potato.project.finding import KeyPath


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of `path`, or of the nearest block around it that is in the file; else the first line."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)
