"""`potato items`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from potato.cli.stores import opened


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    group = typer.Typer(no_args_is_help=True, help="The project's items.")
    app.add_typer(group, name="items")

    @group.callback()
    def _group() -> None:
        """The project's items."""

    @group.command()
    def add(
        file: Annotated[Path, typer.Argument(help="The project file.", metavar="CONFIG.YAML", show_default=False)],
    ) -> None:
        """Take in what is new in the data files: all of it, or nothing. The server may run meanwhile."""
        from potato.items.loading import load_items

        with opened(file) as (project, database):
            report = load_items(project, database)
        for sentence in report.sentences():
            typer.echo(sentence)
