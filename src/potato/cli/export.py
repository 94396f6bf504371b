"""`potato export`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from potato.cli.stores import opened
from potato.errors import PotatoError


class CannotWrite(PotatoError):
    """The file cannot be written. What was there before still is."""

    code = "cannot_write"
    status = 400

    def __init__(self, path: Path, reason: OSError | str) -> None:
        said = reason if isinstance(reason, str) else reason.strerror or reason
        super().__init__(f"{path} cannot be written: {said}")


def check_target(path: Path) -> None:
    """Raise `CannotWrite` for a device or a pipe: a whole new file would be put in its place."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise CannotWrite(path, "it is a device or a pipe, not a file")


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""

    @app.command()
    def export(
        file: Annotated[Path, typer.Argument(help="The project file.", metavar="CONFIG.YAML", show_default=False)],
        form: Annotated[
            str, typer.Option("--format", help="jsonl, csv, tsv, parquet, hf-datasets, label-studio or spacy.")
        ] = "jsonl",
        out: Annotated[
            Path | None, typer.Option(help="The file or folder to write, a manifest beside it; else standard output.")
        ] = None,
        guard_formulas: Annotated[
            bool,
            typer.Option("--guard-formulas", help="In tables, write ' before what a spreadsheet takes for a formula."),
        ] = False,
    ) -> None:
        """Write every answer to a file. The server may run meanwhile."""
        from potato.items.exporters import exporter
        from potato.items.exporting import export_file, export_labels
        from potato.items.problems import several

        if out is not None:
            check_target(out)
        exporter(form)  # an unknown name is said before the store is opened
        with opened(file) as (project, database):
            if out is None:
                manifest = export_labels(project, database, sys.stdout.buffer, form, guard_formulas=guard_formulas)
            else:
                try:
                    manifest = export_file(project, database, out, form, guard_formulas=guard_formulas)
                except OSError as error:
                    raise CannotWrite(out, error) from error
        counts = manifest.as_json()
        parts = [several(counts[f"{thing}s"], thing) for thing in ("annotation", "item", "annotator")]
        typer.echo("{} of {} by {}".format(*parts), err=True)
