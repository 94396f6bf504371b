"""A bundle appears whole: it is written beside its folder, and takes its place in the end."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from potato.store import Database
from potato.training.contract.files import sync_folder


@contextlib.contextmanager
def written(folder: Path, database: Database) -> Iterator[Path]:
    """An empty folder for the bundle, which replaces `folder` when the block ends; where it raises, nothing is left.

    It takes its place within a transaction of the store. So of two servers that build the same run's bundle, because
    one was stalled and the other elected meanwhile, the stalled one touches nothing of the other's.
    """
    for left in unfinished(folder):
        shutil.rmtree(left, ignore_errors=True)
    name = f"{folder.name}-{secrets.token_hex(4)}"
    beside, before = folder.with_name(f"{name}.part"), folder.with_name(f"{name}.before.part")
    beside.mkdir(parents=True)
    try:
        yield beside
        with database.write():
            if folder.exists():
                folder.replace(before)
            beside.replace(folder)
        sync_folder(str(folder.parent))
    finally:
        for left in (beside, before):
            shutil.rmtree(left, ignore_errors=True)


def unfinished(folder: Path) -> Sequence[Path]:
    """What a build of the bundle `folder` that was cut short has left."""
    return sorted(folder.parent.glob(f"{folder.name}-*.part"))
