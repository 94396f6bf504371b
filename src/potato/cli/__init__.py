"""The command line: one file a command, which parses, calls and prints."""

from __future__ import annotations

import importlib
import sys

import typer

from potato import __version__
from potato.cli.failures import named, tell
from potato.cli.first_process import stand_aside

COMMANDS = (
    "init",
    "start",
    "validate",
    "schema",
    "import_",
    "export",
    "items",
    "users",
    "backup",
    "trainers",
    "training",
)
"""The modules of this package; each has `register(app)`."""


def build() -> typer.Typer:
    """The whole command line."""
    app = typer.Typer(
        name="potato",
        help="Annotate, train where the GPU is, and get the model's suggestions back.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )

    @app.callback(invoke_without_command=True)
    def _root(version: bool = typer.Option(False, "--version", help="Print the version and leave.")) -> None:
        if version:
            typer.echo(__version__)
            raise typer.Exit

    for name in COMMANDS:
        importlib.import_module(f"potato.cli.{name}").register(app)
    return app


def main() -> None:
    """The console command `potato`: an error is one sentence on stderr and exit code 1."""
    stand_aside()
    try:
        build()()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        tell(named(error))
        sys.exit(1)
