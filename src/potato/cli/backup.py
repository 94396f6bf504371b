"""`potato backup` and `potato restore`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from potato.cli.export import CannotWrite, check_target


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""

    @app.command()
    def backup(
        file: Annotated[Path, typer.Argument(help="The project file.", metavar="CONFIG.YAML", show_default=False)],
        target: Annotated[Path, typer.Argument(help="Where to write it.", metavar="OUT.TAR.GZ", show_default=False)],
    ) -> None:
        """Copy a whole project into one file: labels, runs, models, project file. The server may run meanwhile."""
        from potato.backup import save
        from potato.project.loading import load_or_raise

        check_target(target)
        project = load_or_raise(file)
        try:
            saved = save(project, target)
        except OSError as error:
            if error.filename is None or Path(error.filename).parent == target.absolute().parent:
                raise CannotWrite(target, error) from error
            raise
        typer.echo(
            f"Wrote {target}: {saved.items:,} items, {saved.annotations:,} answers, {saved.runs:,} runs, "
            f"{saved.bytes / 1e6:.1f} MB."
        )
        for path in saved.outside:
            typer.echo(f"Not in it, because it lies outside the project's folder: {path}")
        named = project.config.item_properties
        if named.image_key or named.audio_key:
            typer.echo("Not in it: the items' images and recordings. Copy their files beside it.")

    @app.command()
    def restore(
        backup: Annotated[Path, typer.Argument(help="What `potato backup` wrote.", show_default=False)],
        folder: Annotated[Path, typer.Argument(help="An empty or a new folder.", show_default=False)],
        database_url: Annotated[
            str | None,
            typer.Option(
                help="Where the labels go, if not where the project file says: an empty PostgreSQL database's address, "
                "or 'sqlite' for a file. The restored project file then says so.",
            ),
        ] = None,
    ) -> None:
        """Bring a project back from a backup, into a folder of its own."""
        from potato.backup import restore as bring_back

        restored = bring_back(backup, folder, database_url)
        typer.echo(f"Restored {restored.items:,} items, {restored.annotations:,} answers, {restored.runs:,} runs.")
        if restored.changed_texts:
            typer.echo(
                f"{restored.changed_texts:,} texts had NUL characters, which PostgreSQL does not keep; "
                "U+FFFD stands in their place."
            )
        typer.echo(f"Next: potato start {shlex.quote(str(restored.file))}")
