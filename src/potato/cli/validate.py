"""`potato validate`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from potato.cli.failures import tell
from potato.cli.findings import counted, show
from potato.project.acknowledging import acknowledge
from potato.project.finding import Finding, Severity, UnreadableProject
from potato.project.loading import Loaded, load, warnings


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def validate(
        file: Annotated[Path, typer.Argument(help="The project file.", metavar="CONFIG.YAML", show_default=False)],
        strict: Annotated[bool, typer.Option("--strict", help="Fail on warnings that nobody acknowledged.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    ) -> None:
        """Say all that is wrong with a project file and its data files.

        Exit code 0: nothing that fails; 1: errors, or warnings with --strict; 2: the file cannot be read.
        """
        try:
            findings = check(file)
        except UnreadableProject as error:
            _cannot_read(error, as_json=as_json)
            raise typer.Exit(2) from error
        _print(file, findings, strict=strict, as_json=as_json)
        raise typer.Exit(1 if _fails(findings, strict=strict) else 0)


def check(file: Path) -> list[Finding]:
    """Every finding of the project file and its data files. Raises `UnreadableProject`."""
    loaded = load(file)
    found = [*loaded.findings, *_about_data(loaded)]
    return acknowledge(found, loaded.draft) if loaded.draft else found


def _about_data(loaded: Loaded) -> list[Finding]:
    """What is wrong inside of the data files that are there, and what their number of items lets expect."""
    from potato.items.checking import survey

    draft = loaded.draft
    if draft is None or any(f.path.startswith(("item_properties", "task_dir")) for f in loaded.errors):
        return []
    surveyed = survey(draft.with_data_files_there())
    rows = [Finding(Severity.ERROR, p.file, p.line or 1, "", p.reason) for p in surveyed.problems]
    rows += [Finding(Severity.WARNING, p.file, p.line or 1, "", p.reason) for p in surveyed.unshown]
    return [*rows, *(f for f in warnings(draft, items=surveyed.items) if f not in loaded.findings)]


def _fails(findings: Sequence[Finding], *, strict: bool) -> bool:
    failing = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return any(finding.severity in failing for finding in findings)


def _print(file: Path, findings: Sequence[Finding], *, strict: bool, as_json: bool) -> None:
    if not as_json:
        show(findings)
        typer.echo(f"{file}: {counted(findings)}")
        return
    groups = {"errors": Severity.ERROR, "warnings": Severity.WARNING, "acknowledged": Severity.ACKNOWLEDGED}
    body: dict[str, object] = {"file": str(file), "ok": not _fails(findings, strict=strict)}
    for name, severity in groups.items():
        body[name] = [finding.as_json() for finding in findings if finding.severity is severity]
    typer.echo(json.dumps(body, indent=2, ensure_ascii=False))


def _cannot_read(error: UnreadableProject, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"ok": False, **error.as_json()}, indent=2, ensure_ascii=False))
    else:
        tell(error)
