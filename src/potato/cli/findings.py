"""How findings look on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import typer

from potato.project.finding import Finding, Severity

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.ACKNOWLEDGED: "blue"}


def show(findings: Iterable[Finding], *, err: bool = False) -> None:
    """A line for each finding: how much it matters, where it is, what it is."""
    for finding in findings:
        word = finding.severity.value
        typer.echo(f"{typer.style(word, fg=_COLOURS[finding.severity])}: {finding}", err=err)


def counted(findings: Sequence[Finding]) -> str:
    """`2 errors, 1 warning`, or `no findings`."""
    counts = {severity: sum(finding.severity is severity for finding in findings) for severity in Severity}
    said = []
    for severity, count in counts.items():
        plural = "" if count == 1 or severity is Severity.ACKNOWLEDGED else "s"
        said += [f"{count} {severity.value}{plural}"] if count else []
    return ", ".join(said) or "no findings"
