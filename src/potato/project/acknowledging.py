"""Warnings that the project says it knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from potato.project.finding import Finding, Severity, dotted
from potato.project.places import line_of
from potato.project.project import Project

MIN_LENGTH = 12
"""A shorter entry would match too much."""


def acknowledge(findings: Iterable[Finding], project: Project) -> list[Finding]:
    """`findings` with each warning that an entry of `validation.acknowledge` matches moved to the acknowledged ones.

    An entry that is too short, or matches nothing, becomes a warning that cannot be acknowledged itself.
    """
    entries = project.config.validation.acknowledge
    known = [entry for entry in entries if len(entry) >= MIN_LENGTH]
    given = list(findings)
    useless = [_useless(project, place, entry, given) for place, entry in enumerate(entries)]
    judged = [replace(f, severity=Severity.ACKNOWLEDGED) if _matches(f, known) else f for f in given]
    return in_order([*judged, *(warning for warning in useless if warning)], project)


def in_order(findings: Iterable[Finding], project: Project) -> list[Finding]:
    """The project file's findings by line, then those of the data files as they came."""
    return sorted(findings, key=lambda f: (f.file != project.name, f.line if f.file == project.name else 0))


def _matches(finding: Finding, entries: Sequence[str]) -> bool:
    return finding.severity is Severity.WARNING and any(entry in finding.message for entry in entries)


def _useless(project: Project, place: int, entry: str, findings: Sequence[Finding]) -> Finding | None:
    if len(entry) < MIN_LENGTH:
        reason = f"has {len(entry)} characters; an entry needs at least {MIN_LENGTH}"
    elif not any(_matches(finding, [entry]) for finding in findings):
        reason = "matches no warning"
    else:
        return None
    path = ("validation", "acknowledge", place)
    key = dotted(path)
    message = f"{key} {reason}: {entry!r}"
    return Finding(Severity.WARNING, project.name, line_of(project.lines, path), key, message)
