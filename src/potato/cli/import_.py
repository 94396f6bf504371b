"""`potato import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from potato.cli.stores import opened


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command("import")
    def import_(
        file: Annotated[Path, typer.Argument(help="The project file.", metavar="CONFIG.YAML", show_default=False)],
        labels: Annotated[
            Path,
            typer.Argument(
                help="The labels: whatever `export` wrote, Label Studio's JSON, or an annotation folder.",
                show_default=False,
            ),
        ],
        replace: Annotated[bool, typer.Option("--replace", help="Let the file's answers win over any others.")] = False,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would become of them.")] = False,
    ) -> None:
        """Take in labels from a file: whole, or not at all. The server may run meanwhile; repeating is harmless."""
        from potato.items.importing import import_labels

        with opened(file, load=True) as (project, database):
            report = import_labels(project, database, labels, replace=replace, dry_run=dry_run)
        for sentence in report.sentences():
            typer.echo(sentence)
