"""How a command fails: one sentence on standard error, a hint where there is one, and never a traceback."""

from __future__ import annotations

import os
import tempfile
import traceback

import typer

from potato.errors import PotatoError


class NotPermitted(PotatoError):
    """The system refuses a file or a folder that a command needs."""

    code = "system_refused"
    status = 500

    def __init__(self, error: OSError) -> None:
        where = f"{os.fspath(error.filename)}: " if isinstance(error.filename, (str, os.PathLike)) else ""
        super().__init__(
            f"{where}{(error.strerror or str(error)).lower()}",
            hint="Look who owns that place, whether it is there, and whether its disk has room.",
        )


class Unexpected(PotatoError):
    """A mistake of the program's own. The traceback is in a file that only its owner can read."""

    code = "internal"
    status = 500

    def __init__(self, error: Exception) -> None:
        super().__init__(
            f"the program met an error that it did not expect ({type(error).__name__})",
            hint=f"What was saved before is safe. For a report, all about it is in {_kept(error)}",
        )


def named(error: Exception) -> PotatoError:
    """What a person is told of `error`."""
    if isinstance(error, PotatoError):
        return error
    if isinstance(error, OSError) and error.errno is not None:
        return NotPermitted(error)
    from potato.store.databases.refused import refusal

    return refusal(error) or Unexpected(error)


def tell(error: PotatoError) -> None:
    """Say it on standard error."""
    typer.echo(f"potato: {error.message}", err=True)
    if error.hint:
        typer.echo(error.hint, err=True)


def _kept(error: Exception) -> str:
    descriptor, path = tempfile.mkstemp(prefix="potato-error-", suffix=".txt")
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="replace") as file:
        file.writelines(traceback.format_exception(error))
    return path
