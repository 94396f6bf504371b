"""`potato schema`."""

from __future__ import annotations

import json

import typer


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def schema() -> None:
        """Print the JSON Schema of the project file, so that an editor completes and checks it."""
        from potato.project.schema import project_schema

        typer.echo(json.dumps(project_schema(), indent=2, ensure_ascii=False))
