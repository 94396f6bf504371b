"""The work of this package that runs in the task child."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Any

from potato.errors import PotatoError
from potato.items.exporting import export_file
from potato.items.loading import load_items
from potato.project import Project
from potato.store import Database
from potato.store.imports import apply
from potato.store.orphans import new_orphans
from potato.store.rederive import rederive
from potato.store.rules import Rules

_STALE_S = 3600
"""Nobody's download takes so long to begin."""


class DownloadNotWritten(PotatoError):
    """The server has no place to write a download to before it sends it. Nothing of it is left there."""

    code = "download_not_written"
    status = 500

    def __init__(self, error: OSError) -> None:
        super().__init__(
            f"The download could not be written on the server: {(error.strerror or str(error)).lower()}",
            hint="Whoever runs the server makes room in output_annotation_dir, or writes it elsewhere: potato export.",
        )


class NoRoomForDownload(DownloadNotWritten):
    """Its disk is full."""

    status = 507


def load(project: Project, database: Database, _args: dict[str, Any]) -> dict[str, Any]:
    """What stands before serving: finish what an import owes, load items, apply changed rules.

    The load's report, with how many answers the changed rules do not take any more, by question, in `orphans`.
    """
    rules = Rules.of(project)
    report = load_items(project, database)
    with database.exclusive("import", project.output_dir):
        apply(database, rules)
    changed = rederive(database, rules)
    return {**report.as_json(), "orphans": dict(new_orphans(database, project.schemes, look=changed))}


def export(project: Project, database: Database, args: dict[str, Any]) -> dict[str, Any]:
    """Write the labels to `path` in `format`; the manifest. What exports that were broken off have left is removed.

    Raises `DownloadNotWritten`.
    """
    path = Path(args["path"])
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path.parent)
        return export_file(project, database, path, args["format"]).as_json()
    except OSError as error:
        raise (NoRoomForDownload if error.errno == errno.ENOSPC else DownloadNotWritten)(error) from error


def _remove_stale(folder: Path) -> None:
    for each in folder.iterdir():
        try:
            stale = time.time() - each.stat().st_mtime > _STALE_S
        except FileNotFoundError:  # another download, renamed or sent meanwhile
            continue
        if stale:
            each.unlink(missing_ok=True)
